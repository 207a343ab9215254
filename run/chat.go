package run

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// The replay endpoint speaks the chat-completions interface of model providers. This file turns recorded responses into that
// form and compares the requests of an agent with the recorded ones.

// CompareChat returns the first difference between a recorded exchange and the body of a chat-completions request; A is the
// recorded side. Spellings with the same meaning are equal: a content of one text part and that text, null and an absent member,
// tools with and without their wrapper. A request that was recorded too late (see Late) and ends with its own answer is compared
// without that answer. Only the first difference is reported, so messages are compared first, then tools, choice and model.
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
	// The recorded request is longer than this one. If the rest begins with its own answer, it was recorded too late.
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
	// The model is in the input or beside it. If the log names no model, there is no difference.
	model := rawjson.Get(input, "model")
	if rawjson.IsNull(model) {
		model = rawjson.At(recorded, "/model/name")
	}
	if rawjson.IsNull(model) {
		return nil, nil
	}
	return at("/model", model, rawjson.Get(body, "model")), nil
}

// at is Compare for values at a pointer. It does not pair ids of tool calls: in a replay the agent got the recorded ids and
// must send them back.
func at(pointer string, a, b []byte) *Difference { return (&comparison{}).values(pointer, a, b) }

// choice returns nil for "auto", the default.
func choice(v []byte) []byte {
	if s, ok := rawjson.Unquote(v); ok && s == "auto" {
		return nil
	}
	return v
}

// chatMessages returns messages with the members that both sides have. It drops members that only the recorder writes, and
// reasoning messages, which this interface does not have.
func chatMessages(list [][]byte) [][]byte {
	var out [][]byte
	for _, m := range list {
		role := rawjson.Str(m, "role")
		if role == "reasoning" {
			continue
		}
		if role == "developer" { // OpenAI's newer name for system
			role = "system"
		}
		w := fmt.Appendf(nil, `{"role":%s`, rawjson.Quote(role))
		if c := chatContent(rawjson.Get(m, "content")); !rawjson.IsNull(c) {
			w = fmt.Appendf(w, `,"content":%s`, c)
		}
		for _, key := range []string{"tool_calls", "tool_call_id"} {
			// An empty list is left out.
			if v := rawjson.Get(m, key); !rawjson.IsNull(v) && len(rawjson.Compact(v)) > len("[]") {
				w = fmt.Appendf(w, `,%q:%s`, key, calls(v))
			}
		}
		out = append(out, append(w, '}'))
	}
	return out
}

// calls returns tool calls with the members that both sides have.
func calls(v []byte) []byte {
	return rawjson.MapElements(v, func(c []byte) []byte {
		// "type" is left out: it is always "function", and some agents do not send it.
		f := rawjson.Get(c, "function")
		return fmt.Appendf(nil, `{"id":%s,"function":{"name":%s,"arguments":%s}}`,
			orNull(rawjson.Get(c, "id")), orNull(rawjson.Get(f, "name")), orNull(rawjson.Get(f, "arguments")))
	})
}

func orNull(v []byte) []byte {
	if len(v) == 0 {
		return []byte("null")
	}
	return v
}

// chatContent returns a content of text only as one text, or nil if it is empty. Client libraries differ in whether they send
// a string or a list of one part.
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

// chatTools removes the wrapper {"type":"function","function":…} from tool definitions, which the recorder does not write,
// and a "strict" that has its default value.
func chatTools(list []byte) []byte {
	if !rawjson.IsArray(list) || string(rawjson.Compact(list)) == "[]" {
		return nil
	}
	return rawjson.MapElements(list, func(t []byte) []byte {
		if f := rawjson.Get(t, "function"); rawjson.IsObject(f) {
			t = f
		}
		t = rawjson.Delete(t, "type")
		if string(rawjson.Get(t, "strict")) == "false" {
			t = rawjson.Delete(t, "strict")
		}
		return t
	})
}

// Answer is a recorded response in the form of a chat completion, whole (JSON) or in pieces (Chunks).
type Answer struct {
	id, model string
	created   int64
	content   []byte // JSON; nil for none
	reasoning string
	calls     [][]byte
	finish    string
	usage     []byte // JSON; nil if it was not counted
}

// NewAnswer reads the response of an exchange, which must have one.
func NewAnswer(runID string, x Exchange) (*Answer, error) {
	body, err := x.Response.Body()
	if err != nil {
		return nil, err
	}
	r, ok := body.(*LLMResponse)
	if !ok {
		return nil, fmt.Errorf("line %d is not %s", x.Response.Line, TypeLLMResponse)
	}
	// The id depends on the log alone, so that two replays give the same bytes.
	a := &Answer{id: fmt.Sprintf("chatcmpl-%s-%d", runID, x.Seq), created: moment(r.Time).Unix()}
	if moment(r.Time).IsZero() {
		a.created = 0 // the format requires a number
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
			a.content = content // content that is not text is kept as it is
		}
		for call := range rawjson.Elements(rawjson.Get(m, "tool_calls")) {
			if rawjson.IsObject(call) {
				a.calls = append(a.calls, call)
			}
		}
	}
	// Several messages with text become one, because this interface allows only one.
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
	// The model of the response counts: a provider may answer with another model than the one requested.
	if a.model == "" {
		raw, err := x.Request.Raw()
		if err != nil {
			return nil, err
		}
		a.model = cmp.Or(rawjson.Str(rawjson.Get(raw, "input"), "model"), rawjson.Str(rawjson.Get(raw, "model"), "name"))
	}
	return a, nil
}

// finishReason says why the model stopped, in the words of this interface. Except for length and content_filter, the reason
// depends on whether there are calls, not on the recorded word, because agents act on it.
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
	w = fmt.Appendf(w, `,"choices":[{"index":0,"message":{"role":"assistant","content":%s`, orNull(a.content))
	if a.reasoning != "" {
		w = fmt.Appendf(w, `,"reasoning_content":%s`, rawjson.Quote(a.reasoning))
	}
	if len(a.calls) > 0 {
		w = fmt.Appendf(w, `,"tool_calls":[%s]`, bytes.Join(a.calls, []byte{','}))
	}
	w = fmt.Appendf(w, `},"finish_reason":%s}]`, rawjson.Quote(a.finish))
	if a.usage != nil {
		w = fmt.Appendf(w, `,"usage":%s`, a.usage)
	}
	return append(w, '}')
}

func (a *Answer) begin(object string) []byte {
	return fmt.Appendf(nil, `{"id":%s,"object":%q,"created":%d,"model":%s`,
		rawjson.Quote(a.id), object, a.created, rawjson.Quote(a.model))
}

// Chunks returns the answer in pieces, for a client that asked for a stream. Clients rely on the order: the role, content
// and calls, the finish reason and, if asked for, usage. Texts are not cut into words.
func (a *Answer) Chunks(usage bool) [][]byte {
	var list [][]byte
	chunk := func(delta, finish string) {
		w := a.begin("chat.completion.chunk")
		list = append(list, fmt.Appendf(w, `,"choices":[{"index":0,"delta":{%s},"finish_reason":%s}]}`, delta, finish))
	}
	chunk(`"role":"assistant","content":""`, "null")
	if a.reasoning != "" {
		chunk(`"reasoning_content":`+string(rawjson.Quote(a.reasoning)), "null")
	}
	if a.content != nil {
		chunk(`"content":`+string(a.content), "null")
	}
	for i, c := range a.calls {
		// In a stream a call is identified by its index, which recorded calls lack.
		call := rawjson.Set(c, "index", fmt.Append(nil, i))
		chunk(`"tool_calls":[`+string(call)+`]`, "null")
	}
	chunk("", string(rawjson.Quote(a.finish)))
	if usage && a.usage != nil {
		list = append(list, fmt.Appendf(a.begin("chat.completion.chunk"), `,"choices":[],"usage":%s}`, a.usage))
	}
	return list
}

// Failure is the reply to a request without a response: the error of the run in the form of a provider's error, and its HTTP
// status. The first error after the request counts: a run may continue after an error.
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
			if s := e.Error.Status; s != nil && *s >= 400 && *s <= 599 {
				status = int(*s)
			}
		}
		break
	}
	return status, ChatError(name, message), nil
}

// ChatError returns an error in the form of a provider's.
func ChatError(kind, message string) []byte {
	return fmt.Appendf(nil, `{"error":{"type":%s,"message":%s}}`, rawjson.Quote(kind), rawjson.Quote(message))
}
