package codelia

import (
	"errors"
	"fmt"
	"slices"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Composer = (*StateDialect)(nil)

// Compose makes messages of neutral parts. What the model thought and what each tool answered are messages of their own.
// Pictures in what a tool answered, and all that is neither text nor picture, become prose or are lost here:
// whoever converts compares and carries along what is missing.
func (d *StateDialect) Compose(m dialect.NewMessage) ([][]byte, error) {
	switch m.Role {
	case session.RoleUser, session.RoleSystem:
		said := dialect.Prose(m.Parts)
		if !speaks(said) {
			return nil, errSilent
		}
		return [][]byte{message(m.Role.String(), content(said))}, nil
	case session.RoleAssistant:
		parts, results := dialect.Results(m.Parts)
		list, err := answer(parts)
		return append(list, outputs(results)...), err
	case session.RoleTool:
		_, results := dialect.Results(m.Parts)
		if results == nil {
			return nil, errors.New("no tool answers in the message")
		}
		return outputs(results), nil
	}
	return nil, fmt.Errorf("a session of %s has no messages of the role %s", d.name, m.Role)
}

// The program would send it as it stands, and a conversation that cannot be continued is worth less than one with
// a gap.
var errSilent = errors.New("the message says nothing, which no provider takes")

// speaks says whether there is a text or a picture.
func speaks(parts []session.Part) bool {
	return slices.ContainsFunc(parts, func(p session.Part) bool {
		t, ok := p.(session.Text)
		return !ok || t.Text != ""
	})
}

func message(role string, content []byte) []byte {
	m := append([]byte(`{"role":`), rawjson.Quote(role)...)
	return append(append(append(m, `,"content":`...), content...), '}')
}

// answer puts thoughts before the rest: an answer to a call must follow the message that has it.
// A message that only thought is legal to codelia: the list then has nothing but reasoning.
func answer(parts []session.Part) ([][]byte, error) {
	var list, calls [][]byte
	var said []session.Part
	for _, p := range parts {
		switch p := p.(type) {
		case session.Thinking:
			list = append(list, message("reasoning", rawjson.Quote(p.Text)))
		case session.Text, session.Image:
			said = append(said, p)
		case session.ToolCall:
			calls = append(calls, call(p))
		}
	}
	if !speaks(said) {
		said = nil
	}
	if said == nil && calls == nil {
		if list == nil {
			return nil, errSilent
		}
		return list, nil
	}
	// null and not "": nothing was said
	m := message("assistant", []byte("null"))
	if said != nil {
		m = message("assistant", content(said))
	}
	if calls != nil {
		m = rawjson.Set(m, "tool_calls", dialect.Array(calls))
	}
	return append(list, m), nil
}

// call is a tool call as chat completions have it: the arguments are JSON in a string.
func call(c session.ToolCall) []byte {
	arguments := string(c.Arguments)
	if s, ok := rawjson.Unquote(c.Arguments); ok {
		arguments = s // what was no JSON when it was written
	}
	// providers take no empty text for arguments
	if arguments == "" {
		arguments = "{}"
	}
	f := rawjson.Set([]byte(`{}`), "name", rawjson.Quote(c.Name))
	f = rawjson.Set(f, "arguments", rawjson.Quote(arguments))
	o := rawjson.Set([]byte(`{}`), "id", rawjson.Quote(c.ID))
	o = rawjson.Set(o, "type", []byte(`"function"`))
	return rawjson.Set(o, "function", f)
}

// outputs gives a message for each answer of a tool.
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

// content gives text alone as a string, and all else as parts.
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

// mediaTypes are those that the program names beside the address.
// Other types are given by the data URL alone.
var mediaTypes = []string{"image/png", "image/jpeg", "image/webp", "image/gif"}

func picture(i session.Image) []byte {
	url := i.Data
	if i.MIME != "" {
		url = "data:" + i.MIME + ";base64," + i.Data
	}
	o := rawjson.Set([]byte(`{}`), "url", rawjson.Quote(url))
	if slices.Contains(mediaTypes, i.MIME) {
		o = rawjson.Set(o, "media_type", rawjson.Quote(i.MIME))
	}
	return rawjson.Set([]byte(`{"type":"image_url"}`), "image_url", o)
}

// Content gives text and images as they stand in a message. There are no custom messages: it stands in none.
func (d *StateDialect) Content(parts []session.Part) []byte { return content(dialect.Prose(parts)) }

// SetOrigin puts it into the message: the program keeps members that it does not know and sends none of them. Of a state it
// goes into the meta, which has a column of its own.
// The meta is written with every save and never sent to a model.
func (d *StateDialect) SetOrigin(record, origin []byte) []byte {
	if !isState(record) {
		return dialect.EscapeBreaks(dialect.SetOrigin(record, origin))
	}
	meta := rawjson.Get(record, "meta")
	if !rawjson.IsObject(meta) {
		meta = []byte("{}")
	}
	return rawjson.Set(record, "meta", dialect.EscapeBreaks(dialect.SetOrigin(meta, origin)))
}

// Origin takes it out again. Of a state only what stays the same from save to save is left, and the folder: that is how it
// knows a state that went on for the one that was converted.
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
