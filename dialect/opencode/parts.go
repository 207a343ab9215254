package opencode

import (
	"iter"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Texts that the program inserts.
const (
	compactionText  = "What did we do so far?"
	subtaskText     = "The following tool was executed by the user"
	clearedText     = "[Old tool result content cleared]"
	interruptedText = "[Tool execution was interrupted]"
	mediaText       = "Attached media from tool result:"
)

// own returns the message of a record as the program exports it: {"info":data,"parts":[data,…]}.
func own(record []byte) []byte {
	var w dialect.Object
	w.Add("info", rawjson.Get(rawjson.Get(record, "message"), "data"))
	var list [][]byte
	for _, data := range partsOf(record) {
		list = append(list, data)
	}
	w.Add("parts", dialect.Array(list))
	return w.End()
}

// partsOf returns the ids and data of the parts of a record, without those of other messages and what is damaged and has no data.
func partsOf(record []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		id := rawjson.Str(rawjson.Get(record, "message"), "id")
		for row := range rawjson.Elements(rawjson.Get(record, "part")) {
			if of := rawjson.Str(row, "message_id"); of != "" && of != id {
				continue
			}
			if data := rawjson.Get(row, "data"); data != nil && !yield(rawjson.Str(row, "id"), data) {
				return
			}
		}
	}
}

// ownParts returns what is inside a message in neutral form: a call is followed by its result.
func ownParts(parts iter.Seq[[]byte]) (list []session.Part) {
	for p := range parts {
		kind := rawjson.Str(p, "type")
		switch kind {
		case "text":
			if text := rawjson.Str(p, "text"); text != "" {
				list = append(list, session.Text{Text: text})
			}
		case "reasoning":
			list = append(list, thinking(p))
		case "tool":
			list = append(list, toolParts(p)...)
		case "file":
			list = append(list, file(p))
		case "subtask": // the model sees another text, which is not in the record
			list = append(list, dialect.TextParts(rawjson.Str(p, "prompt"))...)
		case "step-start", "step-finish", "snapshot", "patch", "retry", "agent":
			// These are notes for the program's own use.
		default:
			list = append(list, session.OpaquePart{Type: kind, JSON: p})
		}
	}
	return list
}

// thinking is a part with reasoning. The provider's signature is in the metadata.
func thinking(p []byte) session.Thinking {
	t := session.Thinking{Text: rawjson.Str(p, "text")}
	for _, of := range rawjson.Fields(rawjson.Get(p, "metadata")) {
		if s := rawjson.Str(of, "signature"); s != "" {
			t.Signature = s
		} else if s := rawjson.Str(of, "redactedData"); s != "" {
			t.Signature, t.Redacted = s, true
		}
	}
	return t
}

// toolParts returns a call and, if it has ended, its result.
func toolParts(p []byte) []session.Part {
	state := rawjson.Get(p, "state")
	c := session.ToolCall{ID: rawjson.Str(p, "callID"), Name: rawjson.Str(p, "tool"), Arguments: session.Raw(rawjson.Get(state, "input"))}
	if rawjson.IsNull(c.Arguments) {
		c.Arguments = session.Raw("{}")
	}
	r := session.ToolResult{CallID: c.ID, Name: c.Name, Session: session.ID(rawjson.Str(rawjson.Get(state, "metadata"), "sessionId"))}
	switch rawjson.Str(state, "status") {
	case "completed":
		r.Parts = dialect.TextParts(rawjson.Str(state, "output"))
		for a := range rawjson.Elements(rawjson.Get(state, "attachments")) {
			r.Parts = append(r.Parts, file(a))
		}
	case "error":
		r.Parts, r.IsError = dialect.TextParts(rawjson.Str(state, "error")), true
	default:
		return []session.Part{c}
	}
	return []session.Part{c, r}
}

// file is an image, or another file unchanged.
func file(p []byte) session.Part {
	mime := rawjson.Str(p, "mime")
	if strings.HasPrefix(mime, "image/") {
		return dialect.ImageOf(rawjson.Str(p, "url"), mime)
	}
	return session.OpaquePart{Type: "file", JSON: p}
}

// Parts returns what is inside an entry in neutral form.
func (d *entries) Parts(e session.Entry, raw []byte) ([]session.Part, error) {
	if e.Kind == session.KindOpaque {
		return []session.Part{session.OpaquePart{Type: e.Type, JSON: raw}}, nil
	}
	return ownParts(func(yield func([]byte) bool) {
		for _, data := range partsOf(raw) {
			if !yield(data) {
				return
			}
		}
	}), nil
}

// Body decodes an entry.
func (d *entries) Body(e session.Entry, raw []byte) (session.Body, error) {
	info := rawjson.Get(rawjson.Get(raw, "message"), "data")
	switch e.Kind {
	case session.KindOpaque:
		return session.Opaque{Type: e.Type, JSON: raw}, nil
	case session.KindCompaction:
		parts, err := d.Parts(e, raw)
		return session.Compaction{Summary: dialect.TextOf(parts)}, err
	}
	m := session.Message{Role: e.Role, Native: e.Type, JSON: own(raw), Time: d.Time(raw), Meta: isMeta(raw)}
	if e.Role == session.RoleAssistant {
		m.Provider, m.Model, m.Stop = rawjson.Str(info, "providerID"), rawjson.Str(info, "modelID"), rawjson.Str(info, "finish")
		if m.Stop == stops[dialect.StopTools] {
			m.Stop = "tool_calls"
		}
		if failed := rawjson.Get(info, "error"); rawjson.Truthy(failed) {
			if m.Error = rawjson.Str(rawjson.Get(failed, "data"), "message"); m.Error == "" {
				m.Error = rawjson.Str(failed, "name")
			}
			m.Stop = "error"
			if rawjson.Str(failed, "name") == aborted {
				m.Stop = "aborted"
			}
		}
		u := usage(info)
		m.Usage = &u
	}
	return m, nil
}

// aborted is the name of the error of an answer that the user stopped.
const aborted = "MessageAbortedError"

// isMeta reports whether the program wrote all of a message in the user's name.
func isMeta(record []byte) bool {
	any := false
	for _, p := range partsOf(record) {
		switch rawjson.Str(p, "type") {
		case "text":
			if !rawjson.Truthy(rawjson.Get(p, "synthetic")) {
				return false
			}
			any = true
		case "compaction":
			any = true
		case "file", "subtask", "agent":
			return false
		}
	}
	return any
}

// usage reads the usage of an answer. The program does not count reasoning as output.
func usage(info []byte) session.Usage {
	t := rawjson.Get(info, "tokens")
	cache := rawjson.Get(t, "cache")
	n := func(o []byte, key string) float64 { return dialect.Number(rawjson.Get(o, key)) }
	tokens := [5]float64{n(t, "input"), n(t, "output") + n(t, "reasoning"), n(cache, "read"), n(cache, "write"), 0}
	if tokens[4] = n(t, "total"); tokens[4] == 0 {
		tokens[4] = tokens[0] + tokens[1] + tokens[2] + tokens[3]
	}
	return session.NewUsage(tokens, [5]float64{4: n(info, "cost")})
}
