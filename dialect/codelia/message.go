package codelia

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// A message of codelia is a flat message of the chat-completions API:
//
//	{"role":"system"|"user"|"assistant"|"tool"|"reasoning","content":text|parts|null,
//	 "tool_calls"?:[{"id":…,"type":"function","function":{"name":…,"arguments":JSON as text}}],"tool_call_id"?,"tool_name"?}

// Role says who speaks in a message.
func (d *Dialect) Role(m []byte) session.Role { return roleOf([]byte(rawjson.Str(m, "role"))) }

func roleOf(name []byte) session.Role {
	if string(name) == "reasoning" { // thinking is a separate message
		return session.RoleAssistant
	}
	return dialect.RoleOf(name, "tool")
}

// LLM returns the message itself, which is what was sent.
func (d *Dialect) LLM(m []byte) ([]byte, error) { return m, nil }

// Edit replaces the content of a message; without content the member is removed.
func (d *Dialect) Edit(m, content []byte) ([]byte, error) {
	if len(content) == 0 {
		return rawjson.Delete(m, "content"), nil
	}
	return rawjson.Set(m, "content", content), nil
}

// ToolCalls returns the ids of the calls in an assistant's message.
func (d *Dialect) ToolCalls(m []byte) []string {
	if rawjson.Str(m, "role") != "assistant" {
		return nil
	}
	var list []string
	for call := range rawjson.Elements(rawjson.Get(m, "tool_calls")) {
		list = append(list, rawjson.Str(call, "id"))
	}
	return list
}

// ToolResults returns the id of the call whose result the message is.
func (d *Dialect) ToolResults(m []byte) []string {
	if rawjson.Str(m, "role") != "tool" {
		return nil
	}
	if id := rawjson.Str(m, "tool_call_id"); id != "" {
		return []string{id}
	}
	return nil
}

// Failed is always false, because a response that failed was not recorded.
func (d *Dialect) Failed([]byte) bool { return false }

// Strip removes tool calls. It returns nil for a message that then has neither calls nor text, because providers refuse it.
func (d *Dialect) Strip(m []byte, drop func(id string) bool) ([]byte, error) {
	left := false
	calls := rawjson.MapElements(rawjson.Get(m, "tool_calls"), func(call []byte) []byte {
		if drop(rawjson.Str(call, "id")) {
			return nil
		}
		left = true
		return call
	})
	if left {
		return rawjson.Set(m, "tool_calls", calls), nil
	}
	if !rawjson.Truthy(rawjson.Get(m, "content")) {
		return nil, nil
	}
	return rawjson.Delete(m, "tool_calls"), nil
}

// MessageParts returns what is inside a message of a context in neutral form.
func (d *Dialect) MessageParts(m []byte) []session.Part { return MessageParts(m) }

// MessageParts returns what is inside a message in neutral form. A message with the role "reasoning" is thinking, unless its
// content is not a text.
func MessageParts(m []byte) []session.Part {
	content := rawjson.Get(m, "content")
	switch rawjson.Str(m, "role") {
	case "tool":
		return []session.Part{session.ToolResult{
			CallID: rawjson.Str(m, "tool_call_id"), Name: rawjson.Str(m, "tool_name"),
			Parts: contentParts(content), IsError: rawjson.Truthy(rawjson.Get(m, "is_error")),
		}}
	case "reasoning":
		if s, ok := rawjson.Unquote(content); ok {
			return []session.Part{session.Thinking{Text: s}}
		}
	}
	parts := contentParts(content)
	for call := range rawjson.Elements(rawjson.Get(m, "tool_calls")) {
		f := rawjson.Get(call, "function")
		parts = append(parts, session.ToolCall{
			ID: rawjson.Str(call, "id"), Name: rawjson.Str(f, "name"), Arguments: arguments(rawjson.Get(f, "arguments")),
		})
	}
	return parts
}

// arguments reads JSON in a string. If the model was cut off, the text is not JSON and stays a string.
func arguments(value []byte) session.Raw {
	if s, ok := rawjson.Unquote(value); ok && rawjson.Valid([]byte(s)) {
		return session.Raw(s)
	}
	if rawjson.IsNull(value) {
		return nil
	}
	return value
}

// contentParts returns the parts of a content. A content that is neither a text nor a list, which the program does not write, becomes an
// opaque part.
func contentParts(content []byte) []session.Part {
	if s, ok := rawjson.Unquote(content); ok {
		return dialect.TextParts(s)
	}
	if rawjson.IsNull(content) {
		return nil
	}
	if !rawjson.IsArray(content) {
		return []session.Part{session.OpaquePart{Type: "content", JSON: content}}
	}
	var parts []session.Part
	for p := range rawjson.Elements(content) {
		switch kind := rawjson.Str(p, "type"); kind {
		case "text":
			parts = append(parts, session.Text{Text: rawjson.Str(p, "text")})
		case "image_url":
			parts = append(parts, image(p))
		default:
			parts = append(parts, session.OpaquePart{Type: kind, JSON: p})
		}
	}
	return parts
}

// image makes an image of a part with a data URL.
func image(part []byte) session.Part {
	url := rawjson.Str(rawjson.Get(part, "image_url"), "url")
	if url == "" {
		return session.OpaquePart{Type: "image_url", JSON: part}
	}
	return dialect.ImageOf(url, "")
}
