// Package blocks makes the content blocks of Anthropic's Messages API from neutral parts.
package blocks

import (
	"strconv"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Types of blocks.
const (
	TypeText     = "text"
	TypeThinking = "thinking"
	TypeRedacted = "redacted_thinking"
	TypeCall     = "tool_use"
	TypeResult   = "tool_result"
)

// Text makes the block of a text.
func Text(text string) []byte {
	var w dialect.Object
	w.Str("type", TypeText)
	w.Str("text", text)
	return w.End()
}

// Content returns texts and images as content; a single text becomes a string.
func Content(parts []session.Part) []byte {
	if len(parts) == 1 {
		if t, ok := parts[0].(session.Text); ok {
			return rawjson.Quote(t.Text)
		}
	}
	return List(parts)
}

// List returns parts as content blocks. Parts for which the provider has no block are left out.
func List(parts []session.Part) []byte {
	var list [][]byte
	for _, p := range parts {
		switch p := p.(type) {
		case session.Text:
			list = append(list, Text(p.Text))
		case session.Thinking:
			list = append(list, thinkingOf(p))
		case session.ToolCall:
			var w dialect.Object
			w.Str("type", TypeCall)
			w.Str("id", p.ID)
			w.Str("name", p.Name)
			w.Add("input", input(p.Arguments))
			list = append(list, w.End())
		case session.Image:
			list = append(list, imageOf(p))
		case session.ToolResult:
			list = append(list, Result(p))
		}
	}
	return dialect.Array(list)
}

// thinkingOf makes a block of thinking.
func thinkingOf(t session.Thinking) []byte {
	var w dialect.Object
	if t.Redacted {
		w.Str("type", TypeRedacted)
		w.Str("data", t.Signature)
		return w.End()
	}
	w.Str("type", TypeThinking)
	w.Str("thinking", t.Text)
	w.Str("signature", t.Signature)
	return w.End()
}

// input returns the arguments of a call. The provider accepts only an object.
func input(arguments []byte) []byte {
	if !rawjson.IsObject(arguments) || !rawjson.Valid(arguments) {
		return []byte("{}")
	}
	return rawjson.Compact(arguments)
}

// imageOf makes the block of a picture.
func imageOf(i session.Image) []byte {
	var w, source dialect.Object
	w.Str("type", "image")
	if i.MIME == "" {
		source.Str("type", "url")
		source.Str("url", i.Data)
	} else {
		source.Str("type", "base64")
		source.Str("media_type", i.MIME)
		source.Str("data", i.Data)
	}
	w.Add("source", source.End())
	return w.End()
}

// Result makes the block of a tool result.
func Result(r session.ToolResult) []byte {
	var w dialect.Object
	w.Str("tool_use_id", r.CallID)
	w.Str("type", TypeResult)
	w.Add("content", Content(dialect.Prose(r.Parts)))
	w.Add("is_error", strconv.AppendBool(nil, r.IsError))
	return w.End()
}

// Usage encodes the usage of an answer. The program does not record the cost of a single answer.
func Usage(u *session.Usage) []byte {
	var w dialect.Object
	for _, n := range []struct {
		key   string
		count int64
	}{
		{"input_tokens", u.Input}, {"cache_creation_input_tokens", u.CacheWrite},
		{"cache_read_input_tokens", u.CacheRead}, {"output_tokens", u.Output},
	} {
		w.Add(n.key, strconv.AppendInt(nil, n.count, 10))
	}
	return w.End()
}
