package crush

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/chat"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// The messages of entries are {"role":…,"parts":[…],"model"?:…,"provider"?:…}, the columns of a row. The messages of a context are those
// of package chat.

// own returns the message of a row.
func own(row []byte) []byte {
	var w dialect.Object
	w.Add("role", rawjson.Get(row, "role"))
	parts := rawjson.Get(row, "parts")
	if parts == nil { // the default value of the column
		parts = []byte("[]")
	}
	w.Add("parts", parts)
	w.Optional("model", rawjson.Str(row, "model"))
	w.Optional("provider", rawjson.Str(row, "provider"))
	return w.End()
}

// MessageParts returns what is inside a message in neutral form.
func (d *Dialect) MessageParts(m []byte) []session.Part {
	if parts := rawjson.Get(m, "parts"); parts != nil {
		return partsOf(parts)
	}
	return chat.Parts(m)
}

// partsOf returns parts in neutral form.
func partsOf(parts []byte) (list []session.Part) {
	for p := range rawjson.Elements(parts) {
		data := rawjson.Get(p, "data")
		switch kind := rawjson.Str(p, "type"); kind {
		case "text":
			if text := rawjson.Str(data, "text"); text != "" {
				list = append(list, session.Text{Text: text})
			}
		case "reasoning":
			if t := thinkingOf(data); t.Text != "" || t.Signature != "" {
				list = append(list, t)
			}
		case "tool_call":
			list = append(list, callOf(data))
		case "tool_result":
			list = append(list, resultOf(data))
		case "image_url":
			list = append(list, dialect.ImageOf(rawjson.Str(data, "url"), ""))
		case "binary":
			list = append(list, fileOf(p, data))
		case "shell_command": // the model sees another text, which is not in the record
			list = append(list, dialect.TextParts(rawjson.Str(data, "command"))...)
			list = append(list, dialect.TextParts(rawjson.Str(data, "output"))...)
		case "finish": // the reason is in the body
		default:
			list = append(list, session.OpaquePart{Type: kind, JSON: p})
		}
	}
	return list
}

func thinkingOf(data []byte) session.Thinking {
	t := session.Thinking{Text: rawjson.Str(data, "thinking"), Signature: rawjson.Str(data, "signature")}
	if t.Signature == "" {
		t.Signature = rawjson.Str(data, "thought_signature")
	}
	return t
}

// callOf reads a call. Its input is JSON in a string.
func callOf(data []byte) session.ToolCall {
	c := session.ToolCall{ID: rawjson.Str(data, "id"), Name: rawjson.Str(data, "name"), Arguments: session.Raw("{}")}
	if input := rawjson.Str(data, "input"); rawjson.Valid([]byte(input)) {
		c.Arguments = session.Raw(input)
	} else if input != "" {
		c.Arguments = session.Raw(rawjson.Quote(input))
	}
	return c
}

func resultOf(data []byte) session.ToolResult {
	r := session.ToolResult{CallID: rawjson.Str(data, "tool_call_id"), Name: rawjson.Str(data, "name"),
		Parts: dialect.TextParts(rawjson.Str(data, "content")), IsError: rawjson.Truthy(rawjson.Get(data, "is_error"))}
	if media := rawjson.Str(data, "data"); media != "" {
		r.Parts = append(r.Parts, session.Image{MIME: rawjson.Str(data, "mime_type"), Data: media})
	}
	return r
}

// fileOf reads a file, which may be an image.
func fileOf(p, data []byte) session.Part {
	if mime := rawjson.Str(data, "MIMEType"); strings.HasPrefix(mime, "image/") {
		return session.Image{MIME: mime, Data: rawjson.Str(data, "Data")}
	}
	return session.OpaquePart{Type: "binary", JSON: p}
}

// attached is the text that the model sees of a text file.
func attached(data []byte) string {
	text, err := base64.StdEncoding.DecodeString(rawjson.Str(data, "Data"))
	if err != nil {
		text = []byte(rawjson.Str(data, "Data"))
	}
	name := ""
	if path := rawjson.Str(data, "Path"); path != "" {
		name = " path='" + path + "'"
	}
	return "<file" + name + ">\n\n" + string(text) + "\n</file>\n"
}

// withoutEscapes removes the sequences that control a terminal.
func withoutEscapes(text string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "\x1b")
		b.WriteString(before)
		if !found || rest == "" {
			return b.String()
		}
		end := 1
		switch rest[0] {
		case '[': // up to a final letter or similar character
			if end = 1 + strings.IndexFunc(rest[1:], func(r rune) bool { return r >= '@' && r <= '~' }) + 1; end == 1 {
				end = len(rest)
			}
		case ']', 'P', 'X', '^', '_': // a text, up to its terminator
			if end = strings.IndexAny(rest, "\a\x1b"); end < 0 {
				end = len(rest)
			} else if rest[end] == '\a' || strings.HasPrefix(rest[end:], "\x1b\\") {
				end += len(rest[end:]) - len(strings.TrimPrefix(strings.TrimPrefix(rest[end:], "\a"), "\x1b\\"))
			}
		}
		text = rest[end:]
	}
}

// shellText is the text that the model sees of a command that the user ran.
func shellText(data []byte) string {
	return fmt.Sprintf("$ %s\n%s\n(exit code %d)", rawjson.Str(data, "command"), withoutEscapes(rawjson.Str(data, "output")), dialect.Integer(rawjson.Get(data, "exit_code")))
}

// Parts returns what is inside an entry in neutral form.
func (d *entries) Parts(e session.Entry, raw []byte) ([]session.Part, error) {
	if e.Kind == session.KindOpaque {
		return []session.Part{session.OpaquePart{Type: e.Type, JSON: raw}}, nil
	}
	return partsOf(rawjson.Get(form.Said(raw), "parts")), nil
}

// Body decodes an entry.
func (d *entries) Body(e session.Entry, raw []byte) (session.Body, error) {
	if e.Kind == session.KindOpaque {
		return session.Opaque{Type: e.Type, JSON: raw}, nil
	}
	row := form.Said(raw)
	m := session.Message{Role: e.Role, Native: e.Type, JSON: own(row), Time: d.Time(raw)}
	if e.Role != session.RoleAssistant {
		return m, nil
	}
	m.Provider, m.Model = rawjson.Str(row, "provider"), rawjson.Str(row, "model")
	for p := range rawjson.Elements(rawjson.Get(row, "parts")) {
		if rawjson.Str(p, "type") != "finish" {
			continue
		}
		data := rawjson.Get(p, "data")
		if m.Stop = rawjson.Str(data, "reason"); m.Stop == canceled {
			m.Stop = "aborted"
		}
		if m.Stop == "error" || m.Stop == "aborted" {
			m.Error = rawjson.Str(data, "message")
		}
	}
	return m, nil
}

// canceled is the program's word for an answer that the user stopped.
const canceled = "canceled"
