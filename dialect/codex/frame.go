package codex

import (
	"bytes"
	"errors"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Framer = (*Dialect)(nil)

// Frame returns what the program writes for entries: events begin and end turns and show messages in the program's lists,
// and in a paginated log each line has the next ordinal. Two writers at once may write the same ordinal; the program
// reads lines in the order of the file and accepts that.
func (d *Dialect) Frame(t *session.Tree, batch iter.Seq[dialect.NewRecord]) iter.Seq2[dialect.Framed, error] {
	return func(yield func(dialect.Framed, error) bool) {
		f, err := newFraming(t)
		if err != nil {
			yield(dialect.Framed{}, err)
			return
		}
		var held []dialect.NewRecord // held back until the next message is known, see ends
		frame := func(n int) bool {
			for i := range n {
				out, err := f.entry(held[i], held[i+1:])
				if !yield(out, err) || err != nil {
					return false
				}
			}
			held = append(held[:0], held[n:]...)
			return true
		}
		for n := range batch {
			held = append(held, n)
			if _, ok := n.Body.(session.Message); ok && !frame(len(held)-1) {
				return
			}
		}
		frame(len(held))
	}
}

// framing is the state of a log to which entries are appended.
type framing struct {
	t *session.Tree
	// next is the next ordinal of a paginated log, -1 for a legacy one.
	next int64
	// turn is the id of the open turn, "" if there is none. prompted: it has a message of the user.
	turn     string
	prompted bool
	now      time.Time
	sum      []byte            // what the thread has used; nil if not looked up yet
	calls    map[string]string // the types of the calls of this write since the last prompt, by id
}

// pastPrompt is how many lines before the last prompt the turn's first event is looked for.
const pastPrompt = 64

// newFraming reads the end of a log.
func newFraming(t *session.Tree) (*framing, error) {
	f := &framing{t: t, next: -1}
	if rawjson.Str(rawjson.Get(t.Header().Raw, "payload"), "history_mode") == "paginated" {
		if err := f.number(); err != nil {
			return nil, err
		}
	}
	d, ok := t.Codec().EntryCodec.(*reader)
	if !ok {
		return nil, errors.New("the tree is not one of this format")
	}
	last := d.last
	f.prompted = last.prompt > max(last.bound, last.leaf)
	if last.bound <= last.leaf || f.prompted && last.prompt-last.bound > pastPrompt {
		return f, nil
	}
	raw, err := t.At(last.bound - 1).Raw()
	if err != nil {
		return nil, err
	}
	if event := rawjson.Get(raw, "payload"); rawjson.Str(event, "type") == eventStarted {
		f.turn = rawjson.Str(event, "turn_id")
	}
	return f, nil
}

// number finds the next ordinal: the one after that of the last line, which may be the header of a fork.
func (f *framing) number() error {
	f.next = 0
	after := func(record []byte) bool {
		value := rawjson.Get(record, "ordinal")
		if dialect.IsNumber(value) {
			f.next = max(f.next, dialect.Integer(value)+1)
		}
		return dialect.IsNumber(value)
	}
	after(f.t.Header().Raw)
	for i := f.t.Len() - 1; i >= 0; i-- {
		raw, err := f.t.At(i).Raw()
		if err != nil {
			return err
		}
		if after(raw) {
			break
		}
	}
	return nil
}

// event returns the line of an event, with its ordinal.
func (f *framing) event(payload []byte) []byte { return f.numbered(line(f.now, typeEvent, payload)) }

// numbered gives a record its ordinal.
func (f *framing) numbered(record []byte) []byte {
	if f.next < 0 {
		return record
	}
	var w dialect.Object
	w.Copy(record, "timestamp")
	w.Add("ordinal", strconv.AppendInt(nil, f.next, 10))
	w.Others(record, "timestamp", "ordinal")
	f.next++
	return w.End()
}

// entry frames one entry; then are the entries that are written after it.
func (f *framing) entry(n dialect.NewRecord, then []dialect.NewRecord) (out dialect.Framed, err error) {
	f.now = n.Time
	record := n.Record
	if b, ok := n.Body.(session.Leaf); ok {
		turns, err := turnsAfter(f.t, b.Target)
		if err != nil {
			return out, err
		}
		f.turn, f.prompted = "", false
		out.Record = f.numbered(rawjson.Set(record, "payload", rolledBack(turns)))
		return out, nil
	}
	if n.Moved {
		turns, err := turnsAfter(f.t, n.Parent)
		if err != nil {
			return out, err
		}
		if turns > 0 {
			out.Before = append(out.Before, f.event(rolledBack(turns)))
			f.turn, f.prompted = "", false
		}
	}
	payload := rawjson.Get(record, "payload")
	switch b := n.Body.(type) {
	case session.Message:
		if payload, err = f.answering(payload); err != nil {
			return out, err
		}
		f.note(payload)
		record = rawjson.Set(record, "payload", payload)
		f.message(&out, n, record, payload)
		if usage := rawjson.Get(b.JSON, usedMember); usage != nil {
			event, err := f.spent(usage)
			if err != nil {
				return out, err
			}
			out.After = append(out.After, event)
		}
		f.finish(&out, payload, then)
		return out, nil
	case session.ModelChange:
		if payload, err = f.settings(n.NewEntry, b, payload); err != nil {
			return out, err
		}
		record = rawjson.Set(record, "payload", payload)
	}
	out.Record = f.numbered(record)
	return out, nil
}

// message frames a message.
func (f *framing) message(out *dialect.Framed, n dialect.NewRecord, record, payload []byte) {
	it, _ := itemOf(session.Entry{}, payload)
	text := contentText(payload)
	switch {
	case it.turn && it.user:
		if f.turn == "" || f.prompted {
			f.turn = string(n.ID)
			out.Before = append(out.Before, f.event(f.started()))
		}
		f.prompted, f.calls = true, nil
		out.Record = f.numbered(record)
		out.After = append(out.After, f.event(f.prompt(n, payload, text)))
	case it.kind == "message" && rawjson.Str(payload, "role") == "assistant":
		out.Before = append(out.Before, f.event(f.said(n, text)))
		out.Record = f.numbered(record)
	case it.kind == "reasoning" && reasoning(payload) != "":
		out.Before = append(out.Before, f.event(f.thought(n, reasoning(payload))))
		out.Record = f.numbered(record)
	default:
		out.Record = f.numbered(record)
	}
}

// finish ends the turn after an answer, if the model adds nothing more.
func (f *framing) finish(out *dialect.Framed, payload []byte, then []dialect.NewRecord) {
	if f.turn == "" || rawjson.Str(payload, "type") != "message" || rawjson.Str(payload, "role") != "assistant" || !ends(then) {
		return
	}
	var w dialect.Object
	w.Str("type", eventComplete)
	w.Str("turn_id", f.turn)
	w.Str("last_agent_message", contentText(payload))
	out.After = append(out.After, f.event(w.End()))
	f.turn, f.prompted = "", false
}

// ends reports whether a turn ends before the entries then, because they have no more messages of the model.
func ends(then []dialect.NewRecord) bool {
	for _, n := range then {
		if m, ok := n.Body.(session.Message); ok {
			it, _ := itemOf(session.Entry{}, m.JSON)
			return it.turn || it.lead
		}
	}
	return true
}

// started is the event that begins a turn.
func (f *framing) started() []byte {
	var w dialect.Object
	w.Str("type", eventStarted)
	w.Str("turn_id", f.turn)
	w.Add("started_at", strconv.AppendInt(nil, f.now.Unix(), 10))
	w.Add("model_context_window", []byte("null"))
	w.Str("collaboration_mode_kind", "default")
	return w.End()
}

// prompt is the event that shows a message of the user.
func (f *framing) prompt(n dialect.NewRecord, payload []byte, text string) []byte {
	var images, content [][]byte
	for part := range rawjson.Elements(rawjson.Get(payload, "content")) {
		url := rawjson.Get(part, "image_url")
		var w dialect.Object
		switch rawjson.Str(part, "type") {
		case "input_text":
			w.Str("type", "text")
			w.Copy(part, "text")
			w.Add("text_elements", []byte("[]"))
		case "input_image":
			images = append(images, url)
			w.Str("type", "image")
			w.Add("image_url", url)
		default:
			continue
		}
		content = append(content, w.End())
	}
	if f.next >= 0 {
		var w dialect.Object
		w.Str("type", "UserMessage")
		w.Str("id", string(n.ID))
		w.Add("content", dialect.Array(content))
		return f.completed(w.End())
	}
	var w dialect.Object
	w.Str("type", "user_message")
	w.Str("message", text)
	w.Add("images", dialect.Array(images))
	w.Add("local_images", []byte("[]"))
	w.Add("text_elements", []byte("[]"))
	return w.End()
}

// said is the event that shows a message of the model.
func (f *framing) said(n dialect.NewRecord, text string) []byte {
	var w dialect.Object
	if f.next < 0 {
		w.Str("type", "agent_message")
		w.Str("message", text)
		return w.End()
	}
	w.Str("type", "AgentMessage")
	w.Str("id", string(n.ID))
	w.Add("content", dialect.Array([][]byte{textPart("Text", text)}))
	return f.completed(w.End())
}

// thought is the event that shows reasoning.
func (f *framing) thought(n dialect.NewRecord, text string) []byte {
	var w dialect.Object
	if f.next < 0 {
		w.Str("type", "agent_reasoning")
		w.Str("text", text)
		return w.End()
	}
	w.Str("type", "Reasoning")
	w.Str("id", string(n.ID))
	w.Add("summary_text", dialect.Array([][]byte{rawjson.Quote(text)}))
	w.Add("raw_content", []byte("[]"))
	return f.completed(w.End())
}

// completed is the event of a paginated log that shows an item.
func (f *framing) completed(item []byte) []byte {
	at := strconv.AppendInt(nil, f.now.UnixMilli(), 10)
	var w dialect.Object
	w.Str("type", "item_completed")
	w.Str("thread_id", string(f.t.Header().ID))
	w.Str("turn_id", f.turn)
	w.Add("item", item)
	w.Add("started_at_ms", at)
	w.Add("completed_at_ms", at)
	return w.End()
}

// settings copies the settings of a turn from the last line that has any, and sets the model. Settings that the caller
// gave stay.
func (f *framing) settings(n dialect.NewEntry, b session.ModelChange, payload []byte) ([]byte, error) {
	if !bytes.Equal(payload, turnContext(n, b)) {
		return payload, nil
	}
	for i := f.t.Len() - 1; i >= 0; i-- {
		e := f.t.At(i)
		if e.Type != typeTurnContext {
			continue
		}
		raw, err := e.Raw()
		if err != nil {
			return nil, err
		}
		if last := rawjson.Get(raw, "payload"); rawjson.IsObject(last) {
			model := rawjson.Get(payload, "model")
			provider := rawjson.Get(payload, providerMember)
			payload = rawjson.Set(rawjson.Delete(last, providerMember), "model", model)
			if provider != nil {
				payload = rawjson.Set(payload, providerMember, provider)
			}
			if mode := rawjson.Get(payload, "collaboration_mode"); rawjson.IsObject(rawjson.Get(mode, "settings")) {
				mode = rawjson.Set(mode, "settings", rawjson.Set(rawjson.Get(mode, "settings"), "model", model))
				payload = rawjson.Set(payload, "collaboration_mode", mode)
			}
		}
		break
	}
	if f.turn != "" {
		payload = rawjson.Set(payload, "turn_id", rawjson.Quote(f.turn))
	}
	return payload, nil
}

// answering gives an output the type that fits its call: outputs of custom tools and of functions have different types.
func (f *framing) answering(payload []byte) ([]byte, error) {
	kind, id := rawjson.Str(payload, "type"), rawjson.Str(payload, "call_id")
	if kind != "function_call_output" || id == "" {
		return payload, nil
	}
	call, ok := f.calls[id]
	if d, is := f.t.Codec().EntryCodec.(*reader); is && !ok {
		var err error
		if call, ok, err = d.called.find(f.t, id); err != nil {
			return nil, err
		}
	}
	if out := outputOf(call); ok && strings.HasPrefix(out, "custom") {
		payload = rawjson.Set(payload, "type", rawjson.Quote(out))
	}
	return payload, nil
}

// note remembers a call for the outputs that follow it.
func (f *framing) note(payload []byte) {
	kind := rawjson.Str(payload, "type")
	if outputOf(kind) == "" {
		return
	}
	if f.calls == nil {
		f.calls = map[string]string{}
	}
	f.calls[rawjson.Str(payload, "call_id")] = kind
}
