package wave

import (
	"fmt"
	"strconv"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Composer = (*Dialect)(nil)

// Compose makes a message of neutral parts. A tool's answer stands in the block of its call.
// Neither the time nor an id is put in: Record does that, for all messages.
func (d *Dialect) Compose(m dialect.NewMessage) ([][]byte, error) {
	if m.Role != session.RoleUser && m.Role != session.RoleAssistant {
		return nil, fmt.Errorf("a message of wave is the user's or the assistant's, not of the role %s", m.Role)
	}
	var o object
	o.add("role", rawjson.Quote(m.Role.String()))
	blocks := d.blocks(m)
	if m.Error != "" {
		var b object
		b.add("type", []byte(`"error"`))
		b.add("content", rawjson.Quote(m.Error))
		blocks = append(blocks, b.end())
	}
	o.add("blocks", array(blocks))
	if m.Role == session.RoleAssistant && m.Usage != nil {
		o.add("usage", usageJSON(m.Usage, m.Model))
	}
	if m.Meta {
		o.add("isMeta", []byte("true"))
	}
	return [][]byte{o.end()}, nil
}

// array joins values that are JSON already.
func array(items [][]byte) []byte {
	out := []byte{'['}
	for i, item := range items {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, item...)
	}
	return append(out, ']')
}

// blocks makes the blocks of a message; what there is no block for is left out.
func (d *Dialect) blocks(m dialect.NewMessage) [][]byte {
	parts, results := dialect.Results(m.Parts)
	// A user's message cannot hold calls, so what somebody ran becomes the text of it.
	if m.Role == session.RoleUser {
		parts, results = dialect.Prose(m.Parts), nil
	}
	var list [][]byte
	for _, p := range parts {
		var b object
		switch p := p.(type) {
		case session.Text:
			b.add("type", []byte(`"text"`))
			b.add("content", rawjson.Quote(p.Text))
			b.add("stage", []byte(`"end"`))
		case session.Thinking:
			b.add("type", []byte(`"reasoning"`))
			b.add("content", rawjson.Quote(p.Text))
			b.add("stage", []byte(`"end"`))
		case session.Image:
			b.add("type", []byte(`"image"`))
			b.add("imageUrls", array([][]byte{rawjson.Quote(imageURL(p))}))
		case session.ToolCall:
			var result *session.ToolResult
			// of several answers to one call the last counts
			for i := range results {
				if results[i].CallID == p.ID {
					result = &results[i]
				}
			}
			b = call(p, result)
		default:
			continue
		}
		list = append(list, b.end())
	}
	return list
}

// call is a tool's block. One that nothing has answered is still running.
// Members stand in the order in which the program writes them.
func call(c session.ToolCall, r *session.ToolResult) object {
	var b object
	b.add("type", []byte(`"tool"`))
	arguments := string(c.Arguments)
	if s, ok := rawjson.Unquote(c.Arguments); ok {
		arguments = s // what was no JSON when it was written
	}
	b.add("parameters", rawjson.Quote(arguments))
	if r != nil {
		b.add("result", rawjson.Quote(dialect.TextOf(r.Parts)))
	}
	b.add("id", rawjson.Quote(c.ID))
	b.add("name", rawjson.Quote(c.Name))
	if r == nil {
		b.add("stage", []byte(`"running"`))
		return b
	}
	b.add("success", strconv.AppendBool(nil, !r.IsError))
	b.add("stage", []byte(`"end"`))
	var images [][]byte
	for _, p := range r.Parts {
		if i, ok := p.(session.Image); ok {
			var o object
			o.add("data", rawjson.Quote(i.Data))
			o.add("mediaType", rawjson.Quote(i.MIME))
			images = append(images, o.end())
		}
	}
	if images != nil {
		b.add("images", array(images))
	}
	return b
}

// imageURL is the address of a picture, or a data URL of its bytes.
func imageURL(i session.Image) string {
	if i.MIME == "" {
		return i.Data
	}
	return "data:" + i.MIME + ";base64," + i.Data
}

// The cache is named only where it was used.
func usageJSON(u *session.Usage, model string) []byte {
	var o object
	count := func(key string, n int64) { o.add(key, strconv.AppendInt(nil, n, 10)) }
	count("prompt_tokens", u.Input)
	count("completion_tokens", u.Output)
	count("total_tokens", u.Total)
	if model != "" {
		o.add("model", rawjson.Quote(model))
	}
	if u.CacheRead != 0 {
		count("cache_read_input_tokens", u.CacheRead)
	}
	if u.CacheWrite != 0 {
		count("cache_creation_input_tokens", u.CacheWrite)
	}
	return o.end()
}

// Content gives text and images as blocks. Wave has no custom messages, so it stands in none.
func (d *Dialect) Content(parts []session.Part) []byte {
	return array(d.blocks(dialect.NewMessage{Role: session.RoleUser, Parts: parts}))
}

// SetOrigin puts it beside what else of ours stands in a record: in the metadata of a message, where the document leaves
// room, or in the metadata line.
// The metadata line has room for members of any name; a message's own is the document's "metadata".
func (d *Dialect) SetOrigin(record, origin []byte) []byte {
	origin = escape(origin)
	if rawjson.Str(record, "type") == "metadata" {
		return dialect.SetOrigin(record, origin)
	}
	metadata := rawjson.Get(record, "metadata")
	if metadata == nil {
		metadata = []byte("{}")
	}
	return rawjson.Set(record, "metadata", dialect.SetOrigin(metadata, origin))
}

// Origin takes it out again.
// An empty "metadata" was made by SetOrigin, or meant nothing, so it goes with the origin.
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
