package codex

import (
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ session.Skimmer = (*Dialect)(nil)

// Members that are found in one pass, because an index reads all lines.
var (
	itemKeys = []string{"type", "content", "summary", "encrypted_content", "call_id", "name", "arguments", "input", "action", "output",
		errorMember}
	partKeys = []string{"type", "text", "image_url"}
)

// Parts returns what is inside an entry in neutral form.
func (d *entries) Parts(e session.Entry, raw []byte) ([]session.Part, error) {
	return entryParts(nil, e, raw, nil), nil
}

// Skim implements session.Skimmer. An item has no usage; see Spent.
func (d *entries) Skim(e session.Entry, raw []byte, s *session.Skim) error {
	s.Parts = entryParts(s.Parts, e, raw, s)
	return nil
}

// MessageParts returns what is inside an item of the Responses API in neutral form.
func (d *Dialect) MessageParts(m []byte) []session.Part {
	var v [11][]byte
	rawjson.Pick(m, itemKeys, v[:])
	return itemParts(nil, m, &v, nil)
}

// entryParts adds the parts of an entry. s decodes texts.
func entryParts(parts []session.Part, e session.Entry, raw []byte, s *session.Skim) []session.Part {
	switch e.Kind {
	case session.KindMessage:
		var v [11][]byte
		payload := rawjson.PickIn(raw, "payload", itemKeys, v[:])
		if e.Type == typeAgents { // the heading of the program is not in the record
			return addText(parts, v[1], s)
		}
		return itemParts(parts, payload, &v, s)
	case session.KindCompaction:
		return addText(parts, rawjson.Get(rawjson.Get(raw, "payload"), "message"), s)
	case session.KindOpaque, session.KindCustom:
		if e.Type == typeEvent && repeats(eventOf(raw)) {
			return parts
		}
		return append(parts, session.OpaquePart{Type: e.Type, JSON: raw})
	}
	return parts
}

// addText adds a text that is not empty.
func addText(parts []session.Part, value []byte, s *session.Skim) []session.Part {
	if t, _ := s.Text(value); t != "" {
		parts = append(parts, session.Text{Text: t})
	}
	return parts
}

// eventOf returns the type of an event, which stands at its beginning. Of a repeated member the first counts: the program does not
// read such a line.
func eventOf(raw []byte) string { return string(rawjson.Inside(rawjson.First(raw, "payload", "type"))) }

// repeats reports whether an event only shows the user what an item says, so that it has no parts of its own.
func repeats(event string) bool {
	switch event {
	case "user_message", "agent_message", "agent_reasoning", "item_completed", eventComplete:
		return true
	}
	return false
}

// itemParts adds the parts of an item. v are the values of its members itemKeys. s decodes texts.
func itemParts(parts []session.Part, m []byte, v *[11][]byte, s *session.Skim) []session.Part {
	text := func(value []byte) string {
		t, _ := s.Text(value)
		return t
	}
	switch kind := text(v[0]); kind {
	case "message", "agent_message":
		return contentParts(parts, v[1], s)
	case "reasoning":
		encrypted := text(v[3])
		return append(parts, session.Thinking{Text: thinking(v[1], v[2], s), Signature: encrypted, Redacted: encrypted != ""})
	case "function_call":
		return append(parts, session.ToolCall{ID: text(v[4]), Name: text(v[5]), Arguments: arguments(v[6], s)})
	case "custom_tool_call":
		return append(parts, session.ToolCall{ID: text(v[4]), Name: text(v[5]), Arguments: v[7]})
	case "local_shell_call":
		return append(parts, session.ToolCall{ID: text(v[4]), Name: "local_shell", Arguments: v[8]})
	case "function_call_output", "custom_tool_call_output":
		output, ok := s.Text(v[9])
		inner := dialect.TextParts(output)
		if !ok {
			inner = contentParts(nil, v[9], s)
		}
		return append(parts, session.ToolResult{CallID: text(v[4]), Parts: inner, IsError: rawjson.Truthy(v[10])})
	default:
		return append(parts, session.OpaquePart{Type: kind, JSON: m})
	}
}

// arguments returns the arguments of a call, which are JSON in a string. Any other value stays as it is.
func arguments(value []byte, s *session.Skim) []byte {
	if inside, ok := s.Inside(value); ok && rawjson.Valid(inside) {
		return inside
	}
	return value
}

// reasoning returns the text of a reasoning item.
func reasoning(m []byte) string {
	return thinking(rawjson.Get(m, "content"), rawjson.Get(m, "summary"), nil)
}

// thinking is the text of the content or, if that is encrypted, of the summary.
func thinking(content, summary []byte, s *session.Skim) string {
	var b strings.Builder
	for _, list := range [][]byte{content, summary} {
		for part := range rawjson.Elements(list) {
			text, _ := s.Text(rawjson.Get(part, "text"))
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(text)
		}
		if b.Len() > 0 {
			break
		}
	}
	return b.String()
}

// contentParts adds the parts of a list of content.
func contentParts(parts []session.Part, content []byte, s *session.Skim) []session.Part {
	text := func(value []byte) string {
		t, _ := s.Text(value)
		return t
	}
	for p := range rawjson.Elements(content) {
		var v [3][]byte
		rawjson.Pick(p, partKeys, v[:])
		switch kind := text(v[0]); kind {
		case "input_text", "output_text", "text":
			parts = append(parts, session.Text{Text: text(v[1])})
		case "input_image":
			parts = append(parts, dialect.ImageOf(text(v[2]), ""))
		default:
			parts = append(parts, session.OpaquePart{Type: kind, JSON: p})
		}
	}
	return parts
}
