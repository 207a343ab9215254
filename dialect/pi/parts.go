package pi

import (
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// The members of messages and blocks that parts are made of, found in one pass, because search reads them all.
var (
	messageKeys = []string{"role", "content", "errorMessage", "toolCallId", "toolName", "isError"}
	blockKeys   = []string{"type", "text", "thinking", "thinkingSignature", "id", "name", "arguments", "mimeType", "data", "redacted"}
	// skimKeys are the members of messages, and those that describe an answer.
	skimKeys = append(messageKeys[:len(messageKeys):len(messageKeys)], "provider", "model", "usage")
)

// Parts returns what is inside an entry in neutral form.
func (d *Dialect) Parts(e session.Entry, raw []byte) ([]session.Part, error) {
	switch e.Kind {
	case session.KindMessage:
		var v [6][]byte
		m := rawjson.PickIn(raw, "message", messageKeys, v[:])
		return partsOf(nil, m, v[:], nil), nil
	case session.KindCustomMessage:
		return contentParts(nil, rawjson.Get(raw, "content"), nil), nil
	case session.KindCompaction, session.KindBranchSummary:
		return textPart(nil, rawjson.Str(raw, "summary")), nil
	case session.KindSessionInit:
		return textPart(textPart(nil, rawjson.Str(raw, "systemPrompt")), rawjson.Str(raw, "task")), nil
	case session.KindOpaque, session.KindCustom:
		return []session.Part{session.OpaquePart{Type: e.Type, JSON: raw}}, nil
	}
	return nil, nil
}

// Skim implements session.Skimmer.
func (d *Dialect) Skim(e session.Entry, raw []byte, s *session.Skim) error {
	if e.Kind != session.KindMessage { // few entries are not
		parts, err := d.Parts(e, raw)
		s.Parts = append(s.Parts, parts...)
		return err
	}
	var v [9][]byte
	m := rawjson.PickIn(raw, "message", skimKeys, v[:])
	s.Parts = partsOf(s.Parts, m, v[:6], s)
	if e.Role == session.RoleAssistant {
		s.Provider, _ = s.Text(v[6])
		s.Model, _ = s.Text(v[7])
		if rawjson.IsObject(v[8]) {
			s.Usage = usageOf(v[8])
		}
	}
	return nil
}

// MessageParts returns what is inside a message of a context in neutral form, as Parts does for an entry. A message of a
// context may differ from its entry: edited, stripped, or in the provider's form.
func (d *Dialect) MessageParts(m []byte) []session.Part {
	var v [6][]byte
	rawjson.Pick(m, messageKeys, v[:])
	return partsOf(nil, m, v[:], nil)
}

// textPart adds a text that is not empty.
func textPart(parts []session.Part, s string) []session.Part {
	if s == "" {
		return parts
	}
	return append(parts, session.Text{Text: s})
}

// partsOf adds the parts of a message; v are the values of its members messageKeys. s decodes texts.
func partsOf(parts []session.Part, m []byte, v [][]byte, s *session.Skim) []session.Part {
	text := func(value []byte) string {
		t, _ := s.Text(value)
		return t
	}
	content, failure := v[1], v[2]
	switch text(v[0]) {
	case "toolResult":
		return append(parts, session.ToolResult{
			CallID: text(v[3]), Name: text(v[4]), Parts: contentParts(nil, content, s), IsError: rawjson.Truthy(v[5]),
		})
	case "bashExecution":
		return append(parts, execution("bash", "command", m)...)
	case "pythonExecution":
		return append(parts, execution("python", "code", m)...)
	case "branchSummary", "compactionSummary":
		return textPart(parts, rawjson.Str(m, "summary"))
	case "fileMention":
		for f := range rawjson.Elements(rawjson.Get(m, "files")) {
			parts = textPart(textPart(parts, rawjson.Str(f, "path")), rawjson.Str(f, "content"))
		}
		return parts
	}
	parts = contentParts(parts, content, s)
	if text(failure) != "" {
		parts = append(parts, session.OpaquePart{Type: "error", JSON: failure})
	}
	return parts
}

// execution is a command that the user ran: a call and its result.
func execution(tool, member string, m []byte) []session.Part {
	code := rawjson.Get(m, member)
	if code == nil {
		code = []byte(`""`)
	}
	arguments := append(append(append([]byte(`{`), rawjson.Quote(member)...), ':'), code...)
	exit := rawjson.Get(m, "exitCode")
	return []session.Part{
		session.ToolCall{Name: tool, Arguments: append(arguments, '}')},
		session.ToolResult{Name: tool, Parts: textPart(nil, rawjson.Str(m, "output")),
			IsError: rawjson.Truthy(exit) || rawjson.Truthy(rawjson.Get(m, "cancelled"))},
	}
}

// contentParts adds the parts of a content: a string or a list of blocks. s decodes texts.
func contentParts(parts []session.Part, content []byte, s *session.Skim) []session.Part {
	if t, ok := s.Text(content); ok {
		return textPart(parts, t)
	}
	text := func(value []byte) string {
		t, _ := s.Text(value)
		return t
	}
	for block := range rawjson.Elements(content) {
		var v [10][]byte
		rawjson.Pick(block, blockKeys, v[:])
		switch kind := text(v[0]); kind {
		case "text":
			parts = append(parts, session.Text{Text: text(v[1])})
		case "thinking":
			parts = append(parts, session.Thinking{Text: text(v[2]), Signature: text(v[3]), Redacted: rawjson.Truthy(v[9])})
		case "toolCall":
			parts = append(parts, session.ToolCall{ID: text(v[4]), Name: text(v[5]), Arguments: v[6]})
		case "image":
			parts = append(parts, session.Image{MIME: text(v[7]), Data: text(v[8])})
		default:
			parts = append(parts, session.OpaquePart{Type: kind, JSON: block})
		}
	}
	return parts
}
