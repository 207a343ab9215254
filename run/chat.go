package run

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// The endpoint of "replay" speaks as model providers do in their chat-completions interface. This file turns what was
// recorded into that form, and compares what an agent sends with what was sent then.

// CompareChat gives the first difference between a recorded exchange and the body of a chat-completions request; its A is
// what was recorded. Spellings that mean the same (a content of one text part and that text, null and nothing, tools with
// and without their wrapper) are equal, and so is a request that was recorded too late (see Late) and goes on with its own
// answer.
// The order of what is compared (messages, tools, choice, model) is that of how much it tells: the first
// difference is the only one that is shown.
func CompareChat(x Exchange, body []byte) (*Difference, error) {
	recorded, err := x.Request.Raw()
	if err != nil {
		return nil, err
	}
	sent, received, err := x.Messages()
	if err != nil {
		return nil, err
	}
	got := chatMessages(slices.Collect(rawjson.Elements(rawjson.Get(body, "messages"))))
	want := chatMessages(sent)
	// The recorded request is longer than what was sent now. If it goes on with just what was answered then, it
	// was recorded too late, and what it had when it was sent is the beginning.
	if n := len(got); n < len(want) && len(received) > 0 {
		follows := chatMessages(received)
		if n+len(follows) <= len(want) && (&comparison{}).lists("", follows, want[n:n+len(follows)]) == nil {
			want = want[:n]
		}
	}
	if d := (&comparison{}).lists("/messages", want, got); d != nil {
		return d, nil
	}
	input := rawjson.Get(recorded, "input")
	if d := at("/tools", chatTools(rawjson.Get(input, "tools")), chatTools(rawjson.Get(body, "tools"))); d != nil {
		return d, nil
	}
	if d := at("/tool_choice", choice(rawjson.Get(input, "tool_choice")), choice(rawjson.Get(body, "tool_choice"))); d != nil {
		return d, nil
	}
	// The model stands in the input or beside it. One that is nowhere in the log cannot differ.
	model := rawjson.Get(input, "model")
	if rawjson.IsNull(model) {
		model = rawjson.At(recorded, "/model/name")
	}
	if rawjson.IsNull(model) {
		return nil, nil
	}
	return at("/model", model, rawjson.Get(body, "model")), nil
}

// at is Compare for values that stand at a pointer.
// at does not pair ids of tool calls: in a replay the agent got the recorded ids back and must send them.
func at(pointer string, a, b []byte) *Difference { return (&comparison{}).values(pointer, a, b) }

// choice: "auto" is what nothing means.
func choice(v []byte) []byte {
	if s, ok := rawjson.Unquote(v); ok && s == "auto" {
		return nil
	}
	return v
}

// chatMessages gives messages with the members that both sides have. What only the recorder writes into its messages goes,
// and so do messages of reasoning, which this interface has no place for.
// Reasoning is recorded as messages of its own, but providers of this interface neither take nor give such
// messages.
func chatMessages(list [][]byte) [][]byte {
	var out [][]byte
	for _, m := range list {
		role := rawjson.Str(m, "role")
		if role == "reasoning" {
			continue
		}
		if role == "developer" { // the newer name
			role = "system"
		}
		w := []byte(`{"role":`)
		w = rawjson.AppendString(w, role)
		if c := chatContent(rawjson.Get(m, "content")); !rawjson.IsNull(c) {
			w = append(append(w, `,"content":`...), c...)
		}
		for _, key := range []string{"tool_calls", "tool_call_id"} {
			// an empty list of calls means that there are none
			if v := rawjson.Get(m, key); !rawjson.IsNull(v) && len(rawjson.Compact(v)) > len("[]") {
				w = append(append(append(append(w, `,"`...), key...), `":`...), calls(v)...)
			}
		}
		out = append(out, append(w, '}'))
	}
	return out
}

// calls gives tool calls with what both sides have of them.
func calls(v []byte) []byte {
	if !rawjson.IsArray(v) {
		return v
	}
	out := []byte{'['}
	for c := range rawjson.Elements(v) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		// "type" is left out: it is always "function", and some agents do not send it.
		f := rawjson.Get(c, "function")
		out = fmt.Appendf(out, `{"id":%s,"function":{"name":%s,"arguments":%s}}`,
			orNull(rawjson.Get(c, "id")), orNull(rawjson.Get(f, "name")), orNull(rawjson.Get(f, "arguments")))
	}
	return append(out, ']')
}

func orNull(v []byte) []byte {
	if len(v) == 0 {
		return []byte("null")
	}
	return v
}

// chatContent gives a content that is nothing but text as one text; nothing where it is empty.
// Agents send the same text as a string or as a list of one part, and which of the two may differ between a
// recording and a client library of a later version.
func chatContent(content []byte) []byte {
	if !rawjson.IsArray(content) {
		if s, ok := rawjson.Unquote(content); ok && s == "" {
			return nil
		}
		return content
	}
	var all strings.Builder
	for part := range rawjson.Elements(content) {
		if rawjson.Str(part, "type") != "text" {
			return content
		}
		all.WriteString(rawjson.Str(part, "text"))
	}
	return rawjson.Quote(all.String())
}

// chatTools takes the wrapper off tool definitions, and the spelled-out default off "strict".
// The recorder keeps definitions flat (name, description, parameters), this interface wraps each in
// {"type":"function","function":…}.
func chatTools(list []byte) []byte {
	if !rawjson.IsArray(list) {
		return nil
	}
	out := []byte{'['}
	for t := range rawjson.Elements(list) {
		if f := rawjson.Get(t, "function"); rawjson.IsObject(f) {
			t = f
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		t = rawjson.Delete(t, "type")
		if string(rawjson.Get(t, "strict")) == "false" {
			t = rawjson.Delete(t, "strict")
		}
		out = append(out, t...)
	}
	if len(out) == 1 {
		return nil
	}
	return append(out, ']')
}

// Answer is a recorded response in the form of a chat completion.
// It is made once and given whole (JSON) or in pieces (Chunks): both say the same.
type Answer struct {
	id, model string
	created   int64
	content   []byte // JSON; nil for none
	reasoning string
	calls     [][]byte
	finish    string
	usage     []byte // JSON; nil where nobody counted
}

// NewAnswer reads the response of an exchange, which must have one.
func NewAnswer(runID string, x Exchange) (*Answer, error) {
	body, err := x.Response.Body()
	if err != nil {
		return nil, err
	}
	r, ok := body.(*LLMResponse)
	if !ok {
		return nil, fmt.Errorf("line %d is no %s", x.Response.Line, TypeLLMResponse)
	}
	// The id is made of what is in the log, so that playing a run twice gives the same bytes.
	a := &Answer{id: fmt.Sprintf("chatcmpl-%s-%d", runID, x.Seq), created: moment(r.Time).Unix()}
	// A log without times: the format wants a number all the same.
	if moment(r.Time).IsZero() {
		a.created = 0
	}
	var texts []string
	for m := range rawjson.Elements(r.Output.Messages) {
		content := rawjson.Get(m, "content")
		switch s, isText := rawjson.Unquote(chatContent(content)); {
		case rawjson.Str(m, "role") == "reasoning":
			a.reasoning += s
			continue
		case isText:
			texts = append(texts, s)
		case !rawjson.IsNull(content) && len(content) > len(`""`):
			a.content = content // parts that are no text: as they are
		}
		a.calls = slices.AppendSeq(a.calls, rawjson.Elements(rawjson.Get(m, "tool_calls")))
	}
	// Several messages of text (a model that spoke, thought and spoke again) become one, because this interface
	// has one.
	if a.content == nil && texts != nil {
		a.content = rawjson.Quote(strings.Join(texts, "\n"))
	}
	a.finish = finishReason(r.Output.StopReason, len(a.calls) > 0)
	if u := r.Output.Usage; u != nil {
		a.model = u.Model
		a.usage = fmt.Appendf(nil, `{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d`, u.Input, u.Output, u.Total)
		if u.Cached != nil {
			a.usage = fmt.Appendf(a.usage, `,"prompt_tokens_details":{"cached_tokens":%d}`, *u.Cached)
		}
		a.usage = append(a.usage, '}')
	}
	// who answers is asked of the response first: a provider may answer with another model than it was asked for
	if a.model == "" {
		raw, err := x.Request.Raw()
		if err != nil {
			return nil, err
		}
		a.model = cmp.Or(rawjson.Str(rawjson.Get(raw, "input"), "model"), rawjson.Str(rawjson.Get(raw, "model"), "name"))
	}
	return a, nil
}

// finishReason says why the model stopped, in this interface's words.
// But for these two, whether calls were made decides and not the recorded word: agents carry calls out by it.
func finishReason(stop string, called bool) string {
	switch stop {
	case "max_tokens", "length":
		return "length"
	case "refusal", "content_filter":
		return "content_filter"
	}
	if called {
		return "tool_calls"
	}
	return "stop"
}

// JSON is the whole answer.
func (a *Answer) JSON() []byte {
	w := a.begin("chat.completion")
	w = append(w, `,"choices":[{"index":0,"message":{"role":"assistant","content":`...)
	w = append(w, orNull(a.content)...)
	if a.reasoning != "" {
		w = rawjson.AppendString(append(w, `,"reasoning_content":`...), a.reasoning)
	}
	if len(a.calls) > 0 {
		w = append(append(append(w, `,"tool_calls":[`...), bytes.Join(a.calls, []byte{','})...), ']')
	}
	w = rawjson.AppendString(append(w, `},"finish_reason":`...), a.finish)
	w = append(w, `}]`...)
	if a.usage != nil {
		w = append(append(w, `,"usage":`...), a.usage...)
	}
	return append(w, '}')
}

func (a *Answer) begin(object string) []byte {
	w := append([]byte(`{"id":`), rawjson.Quote(a.id)...)
	w = append(append(w, `,"object":`...), rawjson.Quote(object)...)
	w = strconv.AppendInt(append(w, `,"created":`...), a.created, 10)
	return append(append(w, `,"model":`...), rawjson.Quote(a.model)...)
}

// Chunks are the answer in pieces, for a client that asked for a stream. With usage, the last one counts tokens.
// Clients take the chunks apart by their order: first the role, then content and calls, then why it ended, then
// usage. Texts are not cut into words: nobody who replays a run waits for them.
func (a *Answer) Chunks(usage bool) [][]byte {
	var list [][]byte
	chunk := func(delta, finish string) {
		w := append(a.begin("chat.completion.chunk"), `,"choices":[{"index":0,"delta":{`...)
		w = append(append(w, delta...), `},"finish_reason":`...)
		list = append(list, append(append(w, finish...), `}]}`...))
	}
	chunk(`"role":"assistant","content":""`, "null")
	if a.reasoning != "" {
		chunk(`"reasoning_content":`+string(rawjson.Quote(a.reasoning)), "null")
	}
	if a.content != nil {
		chunk(`"content":`+string(a.content), "null")
	}
	for i, c := range a.calls {
		// in a stream calls are told apart by their index, which a recorded call has not
		call := rawjson.Set(c, "index", strconv.AppendInt(nil, int64(i), 10))
		chunk(`"tool_calls":[`+string(call)+`]`, "null")
	}
	chunk("", string(rawjson.Quote(a.finish)))
	if usage && a.usage != nil {
		w := append(a.begin("chat.completion.chunk"), `,"choices":[],"usage":`...)
		list = append(list, append(append(w, a.usage...), '}'))
	}
	return list
}

// Failure is what a request that has no response came to: the run's error, in the form of a provider's. status is the HTTP
// status that goes with it.
// The error that counts is the first one behind the request: a run may go on after one.
func Failure(l *Log, x Exchange) (status int, body []byte, err error) {
	status, name, message := 500, "recorded_failure", fmt.Sprintf("request %d has no recorded response", x.Seq)
	for _, r := range l.records {
		if r.Type != TypeRunError || r.Offset < x.Request.Offset {
			continue
		}
		b, err := r.Body()
		if err != nil {
			return 0, nil, err
		}
		if e, ok := b.(*RunError); ok {
			name, message = cmp.Or(e.Error.Name, name), cmp.Or(e.Error.Message, message)
			// only what is an error to HTTP can be the status of one
			if s := e.Error.Status; s != nil && *s >= 400 && *s <= 599 {
				status = int(*s)
			}
		}
		break
	}
	return status, ChatError(name, message), nil
}

// ChatError is an error in the form of a provider's.
func ChatError(kind, message string) []byte {
	return fmt.Appendf(nil, `{"error":{"type":%s,"message":%s}}`, rawjson.Quote(kind), rawjson.Quote(message))
}
