package llm

import (
	"slices"
	"strconv"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// Beyond what all providers require, the Messages API requires that the first message is the user's; that sides take turns; that
// results come first in the message after their calls; that the last text of a final answer does not end in white space; and that a
// request that mentions tools defines them. A system prompt is not a message.

// anthropicBody encodes a request.
func anthropicBody(r request) []byte {
	var system, tools []string
	turns := r.turns
	var list []message
	defined := map[string]bool{}
	for i, t := range turns {
		switch t.role {
		case session.RoleSystem:
			system = append(system, dialect.TextOf(t.parts))
			continue
		case session.RoleUser:
			list = speak(list, "user", anthropicParts(t.parts))
			continue
		}
		if len(t.calls) == 0 && !slices.ContainsFunc(turns[i+1:], func(t turn) bool { return t.role != session.RoleSystem }) {
			t.parts = trimmed(t.parts)
		}
		blocks := anthropicParts(t.parts)
		var results [][]byte
		for _, c := range t.calls {
			blocks, results = append(blocks, toolUse(c)), append(results, toolResult(c))
			if !defined[c.name] {
				defined[c.name] = true
				tools = append(tools, c.name)
			}
		}
		list = speak(speak(list, "assistant", blocks), "user", results)
	}
	var o dialect.Object
	o.Optional("model", r.model)
	o.Add("max_tokens", strconv.AppendInt(nil, int64(r.maxTokens), 10))
	o.Optional("system", strings.Join(system, "\n\n"))
	switch {
	case len(r.tools) > 0:
		o.Add("tools", anthropicTools(r.tools))
	case tools != nil:
		o.Add("tools", definitions(tools))
	}
	o.Add("messages", spelled(list))
	return o.End()
}

// message is a message whose content grows while the same side speaks.
type message struct {
	role    string
	content [][]byte
}

// speak adds what a side says. The conversation begins with the user.
func speak(list []message, role string, content [][]byte) []message {
	if len(content) == 0 {
		return list
	}
	if len(list) == 0 && role != "user" {
		list = append(list, message{"user", [][]byte{text("(The conversation begins with an answer.)")}})
	}
	if n := len(list); n > 0 && list[n-1].role == role {
		list[n-1].content = append(list[n-1].content, content...)
		return list
	}
	return append(list, message{role, content})
}

func spelled(list []message) []byte {
	var out [][]byte
	for _, m := range list {
		var o dialect.Object
		o.Str("role", m.role)
		o.Add("content", dialect.Array(m.content))
		out = append(out, o.End())
	}
	return dialect.Array(out)
}

// trimmed cuts white space at the end of an answer that the model is to continue.
func trimmed(parts []session.Part) []session.Part {
	if n := len(parts); n > 0 {
		if t, ok := parts[n-1].(session.Text); ok {
			return append(slices.Clone(parts[:n-1]), session.Text{Text: strings.TrimRight(t.Text, " \t\r\n")})
		}
	}
	return parts
}

// anthropicParts returns parts as content blocks.
func anthropicParts(parts []session.Part) (list [][]byte) {
	for _, part := range parts {
		var o dialect.Object
		switch p := part.(type) {
		case session.Text:
			list = append(list, text(p.Text))
			continue
		case session.Thinking:
			if p.Redacted {
				o.Str("type", "redacted_thinking")
				o.Str("data", p.Signature)
				break
			}
			o.Str("type", "thinking")
			o.Str("thinking", p.Text)
			o.Str("signature", p.Signature)
		case session.Image:
			var source dialect.Object
			if p.MIME == "" {
				source.Str("type", "url")
				source.Str("url", p.Data)
			} else {
				source.Str("type", "base64")
				source.Str("media_type", p.MIME)
				source.Str("data", p.Data)
			}
			o.Str("type", "image")
			o.Add("source", source.End())
		}
		list = append(list, o.End())
	}
	return list
}

func toolUse(c call) []byte {
	var o dialect.Object
	o.Str("type", "tool_use")
	o.Str("id", c.id)
	o.Str("name", c.name)
	o.Add("input", c.arguments)
	return o.End()
}

func toolResult(c call) []byte {
	var o dialect.Object
	o.Str("type", "tool_result")
	o.Str("tool_use_id", c.id)
	o.Add("content", dialect.Array(anthropicParts(c.result)))
	if c.failed {
		o.Add("is_error", []byte("true"))
	}
	return o.End()
}

func anthropicTools(tools []Tool) []byte {
	var list [][]byte
	for _, t := range tools {
		var o dialect.Object
		o.Str("name", t.Name)
		o.Optional("description", t.Description)
		o.Add("input_schema", t.Parameters)
		list = append(list, o.End())
	}
	return dialect.Array(list)
}

// definitions defines tools only by their names, because sessions do not record more about them.
func definitions(tools []string) []byte {
	var list [][]byte
	for _, name := range tools {
		var o dialect.Object
		o.Str("name", name)
		o.Add("input_schema", []byte(`{"type":"object"}`))
		list = append(list, o.End())
	}
	return dialect.Array(list)
}
