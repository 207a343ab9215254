package codelia

import (
	"errors"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Composer = (*StateDialect)(nil)

// Compose makes messages from neutral parts. Thinking and each tool result become separate messages. Images in a tool
// result, and everything that is neither text nor image, become prose or are lost; the conversion compares and keeps
// what is missing.
func (d *StateDialect) Compose(m dialect.NewMessage) ([][]byte, error) {
	switch m.Role {
	case session.RoleUser, session.RoleSystem:
		said := dialect.Prose(m.Parts)
		if !dialect.Speaks(said) {
			return nil, dialect.ErrSilent
		}
		return [][]byte{message(m.Role.String(), content(said))}, nil
	case session.RoleAssistant:
		parts, results := dialect.Results(m.Parts)
		list, err := answer(parts)
		return append(list, outputs(results)...), err
	case session.RoleTool:
		_, results := dialect.Results(m.Parts)
		if results == nil {
			return nil, errors.New("the message has no tool results")
		}
		return outputs(results), nil
	}
	return nil, dialect.CannotSay(d.Called, m.Role)
}

func message(role string, content []byte) []byte {
	m := append([]byte(`{"role":`), rawjson.Quote(role)...)
	return append(append(append(m, `,"content":`...), content...), '}')
}

// answer puts thinking before the rest, because a tool result must directly follow the message with the call. A message
// that consists only of thinking is valid.
func answer(parts []session.Part) ([][]byte, error) {
	var list, calls [][]byte
	var said []session.Part
	for _, p := range parts {
		switch p := p.(type) {
		case session.Thinking:
			if strings.TrimSpace(p.Text) != "" { // a signature may stand alone
				list = append(list, message("reasoning", rawjson.Quote(p.Text)))
			}
		case session.Text, session.Image:
			said = append(said, p)
		case session.ToolCall:
			calls = append(calls, call(p))
		}
	}
	if !dialect.Speaks(said) {
		said = nil
	}
	if said == nil && calls == nil {
		if list == nil {
			return nil, dialect.ErrSilent
		}
		return list, nil
	}
	// null means that nothing was said
	m := message("assistant", []byte("null"))
	if said != nil {
		m = message("assistant", content(said))
	}
	if calls != nil {
		m = rawjson.Set(m, "tool_calls", dialect.Array(calls))
	}
	return append(list, m), nil
}

// call is a tool call in the form of chat completions: the arguments are JSON in a string.
func call(c session.ToolCall) []byte {
	arguments := string(c.Arguments)
	if s, ok := rawjson.Unquote(c.Arguments); ok {
		arguments = s // it was not JSON when it was written
	}
	// providers refuse empty arguments
	if arguments == "" {
		arguments = "{}"
	}
	f := rawjson.Set([]byte(`{}`), "name", rawjson.Quote(c.Name))
	f = rawjson.Set(f, "arguments", rawjson.Quote(arguments))
	o := rawjson.Set([]byte(`{}`), "id", rawjson.Quote(c.ID))
	o = rawjson.Set(o, "type", []byte(`"function"`))
	return rawjson.Set(o, "function", f)
}

// outputs returns a message for each tool result.
func outputs(results []session.ToolResult) (list [][]byte) {
	for _, r := range results {
		m := rawjson.Set([]byte(`{"role":"tool"}`), "tool_call_id", rawjson.Quote(r.CallID))
		m = rawjson.Set(m, "tool_name", rawjson.Quote(r.Name))
		m = rawjson.Set(m, "content", content(dialect.Prose(r.Parts)))
		if r.IsError {
			m = rawjson.Set(m, "is_error", []byte("true"))
		}
		list = append(list, m)
	}
	return list
}

// content returns a single text as a string, and anything else as parts.
func content(parts []session.Part) []byte {
	switch {
	case len(parts) == 0:
		return []byte(`""`)
	case len(parts) == 1:
		if t, ok := parts[0].(session.Text); ok {
			return rawjson.Quote(t.Text)
		}
	}
	var list [][]byte
	for _, p := range parts {
		switch p := p.(type) {
		case session.Text:
			list = append(list, rawjson.Set([]byte(`{"type":"text"}`), "text", rawjson.Quote(p.Text)))
		case session.Image:
			list = append(list, picture(p))
		}
	}
	return dialect.Array(list)
}

// mediaTypes are the types that the program names beside the URL. Other types are only in the data URL.
var mediaTypes = []string{"image/png", "image/jpeg", "image/webp", "image/gif"}

func picture(i session.Image) []byte {
	o := rawjson.Set([]byte(`{}`), "url", rawjson.Quote(dialect.ImageURL(i)))
	if slices.Contains(mediaTypes, i.MIME) {
		o = rawjson.Set(o, "media_type", rawjson.Quote(i.MIME))
	}
	return rawjson.Set([]byte(`{"type":"image_url"}`), "image_url", o)
}

// Content returns texts and images as the content of a message. The format has no custom messages.
func (d *StateDialect) Content(parts []session.Part) []byte { return content(dialect.Prose(parts)) }

// SetOrigin adds a member to a message: the program keeps unknown members and does not send them. For a state the member goes into
// meta, which is written with every save and never sent to a model.
func (d *StateDialect) SetOrigin(record, origin []byte) []byte {
	if !isState(record) {
		return rawjson.EscapeBreaks(dialect.SetOrigin(record, origin))
	}
	return rawjson.Set(record, "meta", rawjson.EscapeBreaks(dialect.SetOrigin(metaOf(record), origin)))
}

// Origin returns the member, and the record without it. Of a state only members that stay the same in every save are left, so that a
// state that was continued is still recognised as the converted one.
func (d *StateDialect) Origin(record []byte) (origin, bare []byte) {
	if !isState(record) {
		return dialect.Origin(record)
	}
	meta := rawjson.Get(record, "meta")
	if origin = rawjson.Get(meta, dialect.OriginMember); origin == nil {
		return nil, record
	}
	bare = []byte("{}")
	for _, key := range []string{"schema_version", "session_id", "workspace_root"} {
		if value := rawjson.Get(record, key); value != nil {
			bare = rawjson.Set(bare, key, value)
		}
	}
	if own := rawjson.Get(meta, ownMember); own != nil {
		bare = rawjson.Set(bare, ownMember, own)
	}
	return origin, bare
}
