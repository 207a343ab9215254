package gemini

import (
	"iter"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/contents"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var (
	_ session.Skimmer = (*Dialect)(nil)
	_ session.Echoer  = (*Dialect)(nil)
	_ dialect.Parter  = (*Dialect)(nil)
)

// parts returns the parts of a content that is a list or a single part.
func parts(content []byte) iter.Seq[[]byte] {
	if rawjson.IsArray(content) {
		return rawjson.Elements(content)
	}
	return func(yield func([]byte) bool) {
		if !rawjson.IsNull(content) {
			yield(content)
		}
	}
}

// Body decodes the content of an entry. Content that does not fit the entry's kind becomes Opaque.
func (d *entries) Body(e session.Entry, raw []byte) (session.Body, error) {
	switch e.Kind {
	case session.KindMessage:
		m := session.Message{Role: e.Role, Native: e.Type, JSON: bare(raw), Time: d.Time(raw)}
		if e.Role == session.RoleAssistant {
			m.Provider, m.Model, m.Usage = answered(raw, nil)
			if m.Model != "" {
				m.ModelJSON = rawjson.Get(raw, "model")
			}
			if *m.Usage == (session.Usage{}) {
				m.Usage = nil
			}
		} else {
			m.Meta = isContext(textOf(rawjson.Get(raw, "content")))
		}
		return m, nil
	case session.KindCompaction:
		return compaction(e, raw), nil
	case session.KindSessionInfo:
		return session.SessionInfo{Name: rawjson.Str(rawjson.Get(raw, typeSet), "summary")}, nil
	case session.KindLeaf:
		// The record names the first message that is removed.
		return session.Leaf{Target: leafOf(e)}, nil
	case session.KindCustom:
		if e.Type == typeCustom {
			c := rawjson.Get(raw, typeCustom)
			return session.Custom{Type: rawjson.Str(c, "type"), Data: rawjson.Get(c, "data")}, nil
		}
		return session.Custom{Type: e.Type, Data: raw}, nil
	}
	return session.Opaque{Type: e.Type, JSON: raw}, nil
}

// bare is a message without the members that say where it stands.
func bare(raw []byte) []byte {
	return rawjson.Delete(rawjson.Delete(raw, "id"), "timestamp")
}

// compaction returns the first text of the new conversation, and the first message that it keeps.
func compaction(e session.Entry, raw []byte) session.Compaction {
	c := session.Compaction{Details: raw, ReplacesAll: true}
	for m := range rawjson.Elements(rawjson.Get(rawjson.Get(raw, typeSet), "messages")) {
		if isStartup(m) {
			continue
		}
		if c.Summary == "" {
			c.Summary = dialect.TextOf(contents.AppendParts(nil, rawjson.Get(m, "content"), nil))
			continue
		}
		if t := e.Tree(); t != nil {
			if kept, ok := t.Lookup(session.EntryID(rawjson.Str(m, "id"))); ok && kept.Index < e.Index {
				c.FirstKept, c.ReplacesAll = kept.ID, false
				break
			}
		}
	}
	return c
}

// leafOf is the entry that the leaf moves to at a rewind.
func leafOf(e session.Entry) session.EntryID {
	if r := readerOf(e); r != nil {
		return r.leaves[e.Index]
	}
	return ""
}

// readerOf returns the codec of the entry's tree.
func readerOf(e session.Entry) *reader {
	if t := e.Tree(); t != nil {
		r, _ := t.Codec().EntryCodec.(*reader)
		return r
	}
	return nil
}

// echoOf returns what an entry repeats.
func echoOf(e session.Entry) echo {
	if r := readerOf(e); r != nil {
		return r.echoes[e.Index]
	}
	return 0
}

// Echoes reports whether an entry only repeats an earlier one.
func (d *entries) Echoes(e session.Entry, raw []byte) bool {
	switch at := echoOf(e); {
	case at&echoResults != 0:
		return true
	case at&echoTexts != 0:
		return rawjson.Get(raw, "toolCalls") == nil
	}
	return false
}

// IsNote reports whether an entry holds counts and states of the program, or what the program tells the user.
func (d *entries) IsNote(e session.Entry) bool {
	return e.Kind == session.KindCustom && (e.Type == typeSet || e.Type == typeHeader || e.Type == typeRewind)
}

// messageKeys are the members of a message, found in one pass.
var messageKeys = []string{"content", "thoughts", "toolCalls", "tokens", "model", "role", "parts", "type"}

// Parts returns what is inside an entry in neutral form. An answer that is written again has only what is new.
func (d *entries) Parts(e session.Entry, raw []byte) ([]session.Part, error) {
	return entryParts(nil, e, raw, nil), nil
}

// Skim implements session.Skimmer. Spent gives the usage.
func (d *entries) Skim(e session.Entry, raw []byte, s *session.Skim) error {
	s.Parts = entryParts(s.Parts, e, raw, s)
	if e.Kind == session.KindMessage && e.Role == session.RoleAssistant {
		var u *session.Usage
		s.Provider, s.Model, u = answered(raw, s)
		s.Usage = *u
	}
	return nil
}

// MessageParts returns what is inside a content, or a message as it is appended, in neutral form.
func (d *Dialect) MessageParts(m []byte) []session.Part {
	var v [8][]byte
	rawjson.Pick(m, messageKeys, v[:])
	if v[5] != nil {
		return contents.AppendParts(nil, v[6], nil)
	}
	return messageParts(nil, &v, 0, nil)
}

// entryParts adds the parts of an entry. s decodes texts.
func entryParts(list []session.Part, e session.Entry, raw []byte, s *session.Skim) []session.Part {
	switch e.Kind {
	case session.KindMessage:
		var v [8][]byte
		rawjson.Pick(raw, messageKeys, v[:])
		return messageParts(list, &v, echoOf(e), s)
	case session.KindCompaction:
		if text := compaction(session.Entry{}, raw).Summary; text != "" {
			list = append(list, session.Text{Text: text})
		}
		return list
	case session.KindCustom:
		switch e.Type {
		case typeSet, typeHeader, typeRewind:
			return list
		case typeCustom:
			return append(list, session.OpaquePart{Type: e.Type, JSON: raw})
		}
		return contents.AppendParts(list, rawjson.Get(raw, "content"), s)
	case session.KindOpaque:
		return append(list, session.OpaquePart{Type: e.Type, JSON: raw})
	}
	return list
}

// messageParts adds the parts of a message: thoughts, texts, calls and their results. v are the values of its members messageKeys.
func messageParts(list []session.Part, v *[8][]byte, repeats echo, s *session.Skim) []session.Part {
	if repeats&echoTexts == 0 {
		begin := len(list)
		list = contents.AppendParts(list, v[0], s)
		if !hasThinking(list[begin:]) {
			said := append([]session.Part(nil), list[begin:]...)
			list = list[:begin]
			for thought := range rawjson.Elements(v[1]) {
				list = append(list, session.Thinking{Text: thoughtText(thought)})
			}
			list = append(list, said...)
		}
	}
	known := dialect.CallsIn(list)
	for call := range rawjson.Elements(v[2]) {
		id := rawjson.Str(call, "id")
		if repeats&echoCalls == 0 && !known[id] {
			args := session.Raw(rawjson.Get(call, "args"))
			if rawjson.IsNull(args) {
				args = session.Raw("{}")
			}
			list = append(list, session.ToolCall{ID: id, Name: rawjson.Str(call, "name"), Arguments: args})
		}
	}
	for call := range rawjson.Elements(v[2]) {
		if r, ok := resultIn(call, s); ok {
			list = append(list, r)
		}
	}
	return list
}

func hasThinking(list []session.Part) bool {
	for _, p := range list {
		if _, ok := p.(session.Thinking); ok {
			return true
		}
	}
	return false
}

// resultIn returns the result beside a call, as one part. The session of a sub-agent is named beside it.
func resultIn(call []byte, s *session.Skim) (r session.ToolResult, ok bool) {
	value := rawjson.Get(call, "result")
	if !rawjson.Truthy(value) {
		return r, false
	}
	r.CallID, r.Name = rawjson.Str(call, "id"), rawjson.Str(call, "name")
	r.IsError = rawjson.Str(call, "status") == "error"
	if text, ok := s.Text(value); ok {
		r.Parts = dialect.TextParts(text)
	} else {
		for _, p := range contents.AppendParts(nil, value, s) {
			switch p := p.(type) {
			case session.ToolResult:
				if p.CallID == r.CallID || p.CallID == "" {
					r.Parts, r.IsError = append(r.Parts, p.Parts...), r.IsError || p.IsError
				}
			case session.Text, session.Image:
				r.Parts = append(r.Parts, p)
			}
		}
	}
	r.Session = session.ID(rawjson.Str(call, "agentId"))
	return r, true
}

// Messages returns a message as it would be sent alone; see Replay for what is sent.
func (d *entries) Messages(e session.Entry, raw []byte) ([][]byte, error) {
	if e.Kind != session.KindMessage {
		return nil, nil
	}
	var list [][]byte
	for _, t := range turns([]message{{string(e.ID), e, raw}}) {
		list = append(list, t.json())
	}
	return list, nil
}

// Role says who speaks in a content.
func (d *Dialect) Role(m []byte) session.Role {
	switch rawjson.Str(m, "type") {
	case typeUser:
		if contents.HasResult(rawjson.Get(m, "content")) {
			return session.RoleTool
		}
		return session.RoleUser
	case typeAnswer:
		return session.RoleAssistant
	}
	return contents.Role(m)
}
