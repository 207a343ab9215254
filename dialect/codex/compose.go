package codex

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// errorMember is a member of an output that only treeline uses: the tool failed.
const errorMember = "is_error"

var (
	_ dialect.Composer  = (*Dialect)(nil)
	_ dialect.CallNamer = (*Dialect)(nil)
)

// Compose makes items from neutral parts. A message of the model becomes one item for each run of texts and one for each call;
// each result is an item, too. System messages get the role developer, because the program drops the role "system".
func (d *Dialect) Compose(m dialect.NewMessage) (list [][]byte, err error) {
	parts, results := dialect.Results(m.Parts)
	switch m.Role {
	case session.RoleUser, session.RoleSystem:
		prose := dialect.Prose(parts)
		if !dialect.Speaks(prose) {
			return nil, dialect.ErrSilent
		}
		role := "user"
		if m.Role == session.RoleSystem {
			role = "developer"
		}
		list = append(list, said(role, d.Content(prose)))
	case session.RoleAssistant:
		if list = answer(parts); len(list) == 0 && len(results) == 0 {
			return nil, dialect.ErrSilent
		}
		if last := len(list) - 1; last >= 0 && m.Usage != nil {
			list[last] = rawjson.Set(list[last], usedMember, used(m.Usage))
		}
	case session.RoleTool:
		if len(results) == 0 {
			return nil, dialect.NoCall("codex")
		}
	default:
		return nil, dialect.CannotSay("codex", m.Role)
	}
	for _, r := range results {
		var w dialect.Object
		w.Str("type", "function_call_output")
		w.Str("call_id", r.CallID)
		w.Add("output", d.output(r.Parts))
		if r.IsError {
			w.Add(errorMember, []byte("true")) // the program ignores the member and has no other for it
		}
		list = append(list, w.End())
	}
	return list, nil
}

// said is a message with the given content.
func said(role string, content []byte) []byte {
	var w dialect.Object
	w.Str("type", "message")
	w.Str("role", role)
	w.Add("content", content)
	return w.End()
}

// answer returns the items of an answer. Blank texts are left out.
func answer(parts []session.Part) (list [][]byte) {
	var texts [][]byte
	flush := func() {
		if texts != nil {
			list = append(list, said("assistant", dialect.Array(texts)))
			texts = nil
		}
	}
	for _, p := range parts {
		switch p := p.(type) {
		case session.Text:
			if dialect.Speaks([]session.Part{p}) {
				texts = append(texts, textPart("output_text", p.Text))
			}
		case session.Thinking:
			if dialect.Speaks([]session.Part{p}) || p.Signature != "" {
				flush()
				list = append(list, thought(p))
			}
		case session.ToolCall:
			flush()
			list = append(list, call(p))
		}
	}
	flush()
	return list
}

// thought is a reasoning item: a summary and, if the provider gave it, the encrypted reasoning.
func thought(p session.Thinking) []byte {
	var w dialect.Object
	w.Str("type", "reasoning")
	var summary [][]byte
	if p.Text != "" {
		summary = append(summary, textPart("summary_text", p.Text))
	}
	w.Add("summary", dialect.Array(summary))
	encrypted := []byte("null")
	if p.Signature != "" {
		encrypted = rawjson.Quote(p.Signature)
	}
	w.Add("encrypted_content", encrypted)
	return w.End()
}

// call is a function call. Its arguments are JSON in a string; arguments that were not JSON stay as they are.
func call(p session.ToolCall) []byte {
	arguments := string(rawjson.Compact(p.Arguments))
	if s, ok := rawjson.Unquote(p.Arguments); ok {
		arguments = s
	}
	var w dialect.Object
	w.Str("type", "function_call")
	w.Str("name", p.Name)
	w.Str("arguments", arguments)
	w.Str("call_id", p.ID)
	return w.End()
}

// output returns the output of a call: a text, or a list where there is more than one part or an image.
func (d *Dialect) output(parts []session.Part) []byte {
	if len(parts) == 0 {
		return rawjson.Quote("")
	}
	if t, ok := parts[0].(session.Text); ok && len(parts) == 1 {
		return rawjson.Quote(t.Text)
	}
	return d.Content(parts)
}

// textPart is a part with a text.
func textPart(kind, text string) []byte {
	var w dialect.Object
	w.Str("type", kind)
	w.Str("text", text)
	return w.End()
}

// Content returns texts and images as the content of a message of the user.
func (d *Dialect) Content(parts []session.Part) []byte {
	var list [][]byte
	for _, p := range parts {
		switch p := p.(type) {
		case session.Text:
			list = append(list, inputText(p.Text))
		case session.Image:
			var w dialect.Object
			w.Str("type", "input_image")
			w.Str("image_url", dialect.ImageURL(p))
			list = append(list, w.End())
		}
	}
	return dialect.Array(list)
}

// CallID returns an id in the form that OpenAI uses.
func (d *Dialect) CallID(id string) string { return dialect.PrefixedCallID("call_", id) }
