// Package chat reads and makes messages of the chat-completions API of language models:
//
//	{"role":"user","content":text|parts}
//	{"role":"assistant","content":text,"reasoning_content"?,"tool_calls"?:[{"id":…,"type":"function","function":{"name":…,"arguments":JSON as text}}]}
//	{"role":"tool","tool_call_id":…,"name":…,"content":text|parts,"is_error"?,"session"?}
//
// Dialects of agents with their own session format use these messages for contexts, whatever API the agent's program uses.
// The members is_error and session (the id of a sub-agent's session) are not sent.
package chat

import (
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Message returns a message of a role with a content, which is JSON.
func Message(role string, content []byte) []byte {
	var w dialect.Object
	w.Str("role", role)
	w.Add("content", content)
	return w.End()
}

// Text returns a part that is a text.
func Text(text string) []byte {
	var w dialect.Object
	w.Str("type", "text")
	w.Str("text", text)
	return w.End()
}

// Image returns a part that is a picture.
func Image(url, mime string) []byte {
	var w, u dialect.Object
	w.Str("type", "image_url")
	u.Str("url", url)
	u.Optional("mime", mime)
	w.Add("image_url", u.End())
	return w.End()
}

// Content returns parts as a content: a single text is a string.
func Content(list [][]byte) []byte {
	if len(list) == 1 {
		if text := rawjson.Get(list[0], "text"); text != nil {
			return text
		}
	}
	return dialect.Array(list)
}

// Call returns a call of a tool. Arguments are JSON; null stands for none.
func Call(id, name string, arguments []byte) []byte {
	if rawjson.IsNull(arguments) {
		arguments = []byte("{}")
	}
	var f, c dialect.Object
	f.Str("name", name)
	f.Str("arguments", string(rawjson.Compact(arguments)))
	c.Str("id", id)
	c.Str("type", "function")
	c.Add("function", f.End())
	return c.End()
}

// Answer is a message of the model.
type Answer struct {
	Text, Thinking strings.Builder
	Calls          [][]byte
}

// End returns the message.
func (a *Answer) End() []byte {
	var w dialect.Object
	w.Str("role", "assistant")
	w.Str("content", a.Text.String())
	w.Optional("reasoning_content", a.Thinking.String())
	if a.Calls != nil {
		w.Add("tool_calls", dialect.Array(a.Calls))
	}
	return w.End()
}

// Result is what a tool gave.
type Result struct {
	CallID, Name string
	Content      []byte
	Failed       bool
	// Session is the session of a sub-agent, "" if there is none.
	Session string
}

// Message returns the message of a result.
func (r Result) Message() []byte {
	var w dialect.Object
	w.Str("role", "tool")
	w.Str("tool_call_id", r.CallID)
	w.Str("name", r.Name)
	w.Add("content", r.Content)
	if r.Failed {
		w.Add("is_error", []byte("true"))
	}
	w.Optional("session", r.Session)
	return w.End()
}

// Wire is the session.MessageCodec of these messages, except for blobs.
type Wire struct{}

// Role says who speaks in a message.
func (*Wire) Role(m []byte) session.Role {
	return dialect.RoleOf([]byte(rawjson.Str(m, "role")), "tool")
}

// LLM returns the message without the members that are not sent.
func (*Wire) LLM(m []byte) ([]byte, error) {
	return rawjson.Delete(rawjson.Delete(m, "is_error"), "session"), nil
}

// Edit replaces the content of a message.
func (*Wire) Edit(m, content []byte) ([]byte, error) {
	if len(content) == 0 {
		return rawjson.Delete(m, "content"), nil
	}
	return rawjson.Set(m, "content", content), nil
}

// ToolCalls returns the ids of the calls in a message.
func (*Wire) ToolCalls(m []byte) (list []string) {
	for call := range rawjson.Elements(rawjson.Get(m, "tool_calls")) {
		list = append(list, rawjson.Str(call, "id"))
	}
	return list
}

// ToolResults returns the id of the call that a message answers.
func (*Wire) ToolResults(m []byte) []string {
	if id := rawjson.Str(m, "tool_call_id"); id != "" {
		return []string{id}
	}
	return nil
}

// Failed is always false: a failed answer is in a context only if its program sends it.
func (*Wire) Failed([]byte) bool { return false }

// Strip removes calls or a result. An answer without text and calls is not worth sending.
func (*Wire) Strip(m []byte, drop func(id string) bool) ([]byte, error) {
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

// Parts returns what is inside a message in neutral form.
func Parts(m []byte) []session.Part {
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

// contentParts returns the parts of a content.
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
