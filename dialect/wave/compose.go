package wave

import (
	"fmt"
	"strconv"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var (
	_ dialect.Composer  = (*Dialect)(nil)
	_ dialect.Commander = (*Dialect)(nil)
	_ dialect.Commander = (*LegacyDialect)(nil)
)

// Compose makes a message from neutral parts. A tool result is in the block of its call. Record adds time and id.
func (d *Dialect) Compose(m dialect.NewMessage) ([][]byte, error) {
	if m.Role != session.RoleUser && m.Role != session.RoleAssistant {
		return nil, fmt.Errorf("a message of wave is the user's or the assistant's, not of the role %s", m.Role)
	}
	var o dialect.Object
	o.Str("role", m.Role.String())
	blocks := d.blocks(m)
	if c := m.Command; c != nil && c.Hidden && c.Tool == "bash" {
		blocks = [][]byte{bang(c)}
	}
	if m.Error != "" {
		var b dialect.Object
		b.Str("type", "error")
		b.Str("content", m.Error)
		blocks = append(blocks, b.End())
	}
	if len(blocks) == 0 {
		return nil, dialect.ErrSilent
	}
	o.Add("blocks", dialect.Array(blocks))
	if m.Role == session.RoleAssistant && m.Usage != nil {
		o.Add("usage", usageJSON(m.Usage, m.Model))
	}
	if m.Meta {
		o.Add("isMeta", []byte("true"))
	}
	return [][]byte{o.End()}, nil
}

// blocks makes the blocks of a message. Parts that have no block are left out.
func (d *Dialect) blocks(m dialect.NewMessage) [][]byte {
	parts, results := dialect.Results(m.Parts)
	// A message of the user cannot hold calls, so they become texts.
	if m.Role == session.RoleUser {
		parts, results = dialect.Prose(m.Parts), nil
	}
	var list [][]byte
	for _, p := range parts {
		var b dialect.Object
		switch p := p.(type) {
		case session.Text:
			b.Str("type", "text")
			b.Str("content", p.Text)
			b.Str("stage", "end")
		case session.Thinking:
			b.Str("type", "reasoning")
			b.Str("content", p.Text)
			b.Str("stage", "end")
		case session.Image:
			b.Str("type", "image")
			b.Add("imageUrls", dialect.Array([][]byte{rawjson.Quote(dialect.ImageURL(p))}))
		case session.ToolCall:
			var result *session.ToolResult
			// if a call has several results, the last counts
			for i := range results {
				if results[i].CallID == p.ID {
					result = &results[i]
				}
			}
			b = call(p, result)
		default:
			continue
		}
		list = append(list, b.End())
	}
	return list
}

// call is the block of a tool call, members in the program's order. Without a result it is still running.
func call(c session.ToolCall, r *session.ToolResult) dialect.Object {
	var b dialect.Object
	b.Str("type", "tool")
	arguments := string(c.Arguments)
	if s, ok := rawjson.Unquote(c.Arguments); ok {
		arguments = s // it was not JSON when it was written
	}
	b.Str("parameters", arguments)
	if r != nil {
		b.Str("result", dialect.TextOf(r.Parts))
	}
	b.Str("id", c.ID)
	b.Str("name", c.Name)
	if r == nil {
		b.Str("stage", "running")
		return b
	}
	b.Add("success", strconv.AppendBool(nil, !r.IsError))
	b.Str("stage", "end")
	var images [][]byte
	for _, p := range r.Parts {
		if i, ok := p.(session.Image); ok {
			var o dialect.Object
			o.Str("data", i.Data)
			o.Str("mediaType", i.MIME)
			images = append(images, o.End())
		}
	}
	if images != nil {
		b.Add("images", dialect.Array(images))
	}
	return b
}

// usageJSON encodes a usage. The cache is only named if it was used.
func usageJSON(u *session.Usage, model string) []byte {
	var o dialect.Object
	count := func(key string, n int64) { o.Add(key, strconv.AppendInt(nil, n, 10)) }
	count("prompt_tokens", u.Input)
	count("completion_tokens", u.Output)
	count("total_tokens", u.Total)
	o.Optional("model", model)
	if u.CacheRead != 0 {
		count("cache_read_input_tokens", u.CacheRead)
	}
	if u.CacheWrite != 0 {
		count("cache_creation_input_tokens", u.CacheWrite)
	}
	return o.End()
}

// Content returns texts and images as blocks. Wave has no custom messages.
func (d *Dialect) Content(parts []session.Part) []byte {
	return dialect.Array(d.blocks(dialect.NewMessage{Role: session.RoleUser, Parts: parts}))
}

// SetOrigin adds a member to the metadata line or, in a message, to the member "metadata", whose content the document leaves open.
func (d *Dialect) SetOrigin(record, origin []byte) []byte {
	origin = rawjson.EscapeBreaks(origin)
	if rawjson.Str(record, "type") == "metadata" {
		return dialect.SetOrigin(record, origin)
	}
	metadata := rawjson.Get(record, "metadata")
	if metadata == nil {
		metadata = []byte("{}")
	}
	return rawjson.Set(record, "metadata", dialect.SetOrigin(metadata, origin))
}

// Origin returns the member, and the record without it and without a "metadata" that is then empty.
func (d *Dialect) Origin(record []byte) (origin, bare []byte) {
	if rawjson.Str(record, "type") == "metadata" {
		return dialect.Origin(record)
	}
	origin, metadata := dialect.Origin(rawjson.Get(record, "metadata"))
	switch {
	case origin == nil:
		return nil, record
	case string(metadata) == "{}":
		return origin, rawjson.Delete(record, "metadata")
	}
	return origin, rawjson.Set(record, "metadata", metadata)
}
