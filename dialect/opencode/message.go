package opencode

import (
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// The messages of a context are those of the chat-completions interface, whatever interface the program uses for its model:
//
//	{"role":"user","content":text|parts}
//	{"role":"assistant","content":text,"reasoning_content"?,"tool_calls"?:[{"id":…,"type":"function","function":{"name":…,"arguments":JSON as text}}]}
//	{"role":"tool","tool_call_id":…,"name":…,"content":text|parts,"is_error"?,"session"?}
//
// The messages of entries have the form in which the program exports them: {"info":{…},"parts":[…]}.

func chat(role string, content []byte) []byte {
	var w dialect.Object
	w.Str("role", role)
	w.Add("content", content)
	return w.End()
}

func textPart(text string) []byte {
	var w dialect.Object
	w.Str("type", "text")
	w.Str("text", text)
	return w.End()
}

// filePart is a file in a message of a context.
func filePart(p []byte) []byte {
	var w, u dialect.Object
	if strings.HasPrefix(rawjson.Str(p, "mime"), "image/") {
		w.Str("type", "image_url")
		u.Str("url", rawjson.Str(p, "url"))
		u.Str("mime", rawjson.Str(p, "mime"))
		w.Add("image_url", u.End())
		return w.End()
	}
	w.Str("type", "file")
	w.Add("file", p)
	return w.End()
}

// Role says who speaks in a message.
func (d *Format) Role(m []byte) session.Role {
	if info := rawjson.Get(m, "info"); info != nil {
		m = info
	}
	return dialect.RoleOf([]byte(rawjson.Str(m, "role")), "tool")
}

// LLM gives the message as it is.
func (d *Format) LLM(m []byte) ([]byte, error) {
	return rawjson.Delete(rawjson.Delete(m, "is_error"), "session"), nil
}

// Edit replaces the content of a message.
func (d *Format) Edit(m, content []byte) ([]byte, error) {
	if len(content) == 0 {
		return rawjson.Delete(m, "content"), nil
	}
	return rawjson.Set(m, "content", content), nil
}

// ToolCalls gives the ids of the calls in a message.
func (d *Format) ToolCalls(m []byte) (list []string) {
	for call := range rawjson.Elements(rawjson.Get(m, "tool_calls")) {
		list = append(list, rawjson.Str(call, "id"))
	}
	return list
}

// ToolResults gives the id of the call that a message answers.
func (d *Format) ToolResults(m []byte) []string {
	if id := rawjson.Str(m, "tool_call_id"); id != "" {
		return []string{id}
	}
	return nil
}

// Failed: the program leaves out answers that failed, unless they said something.
func (d *Format) Failed([]byte) bool { return false }

// Strip removes calls or a result. An answer without text and calls is not worth sending.
func (d *Format) Strip(m []byte, drop func(id string) bool) ([]byte, error) {
	if id := rawjson.Str(m, "tool_call_id"); id != "" {
		if drop(id) {
			return nil, nil
		}
		return m, nil
	}
	left := false
	calls := rawjson.MapElements(rawjson.Get(m, "tool_calls"), func(call []byte) []byte {
		if drop(rawjson.Str(call, "id")) {
			return nil
		}
		left = true
		return call
	})
	switch {
	case left:
		return rawjson.Set(m, "tool_calls", calls), nil
	case rawjson.Str(m, "content") == "" && !rawjson.IsArray(rawjson.Get(m, "content")):
		return nil, nil
	}
	return rawjson.Delete(m, "tool_calls"), nil
}

// MessageParts gives what is inside a message in neutral form.
func (d *Format) MessageParts(m []byte) []session.Part {
	if info := rawjson.Get(m, "info"); info != nil {
		return ownParts(rawjson.Elements(rawjson.Get(m, "parts")))
	}
	if rawjson.Str(m, "role") == "tool" {
		return []session.Part{session.ToolResult{
			CallID: rawjson.Str(m, "tool_call_id"), Name: rawjson.Str(m, "name"), Parts: contentParts(rawjson.Get(m, "content")),
			IsError: rawjson.Truthy(rawjson.Get(m, "is_error")), Session: session.ID(rawjson.Str(m, "session")),
		}}
	}
	var parts []session.Part
	if text := rawjson.Str(m, "reasoning_content"); text != "" {
		parts = append(parts, session.Thinking{Text: text})
	}
	parts = append(parts, contentParts(rawjson.Get(m, "content"))...)
	for call := range rawjson.Elements(rawjson.Get(m, "tool_calls")) {
		f := rawjson.Get(call, "function")
		c := session.ToolCall{ID: rawjson.Str(call, "id"), Name: rawjson.Str(f, "name"), Arguments: session.Raw(rawjson.Get(f, "arguments"))}
		if text, ok := rawjson.Unquote(c.Arguments); ok && rawjson.Valid([]byte(text)) {
			c.Arguments = session.Raw(text)
		}
		parts = append(parts, c)
	}
	return parts
}

// contentParts gives the parts of a content.
func contentParts(content []byte) (parts []session.Part) {
	if s, ok := rawjson.Unquote(content); ok {
		return dialect.TextParts(s)
	}
	for p := range rawjson.Elements(content) {
		switch kind := rawjson.Str(p, "type"); kind {
		case "text":
			parts = append(parts, session.Text{Text: rawjson.Str(p, "text")})
		case "image_url":
			u := rawjson.Get(p, "image_url")
			parts = append(parts, dialect.ImageOf(rawjson.Str(u, "url"), rawjson.Str(u, "mime")))
		default:
			parts = append(parts, session.OpaquePart{Type: kind, JSON: p})
		}
	}
	return parts
}
