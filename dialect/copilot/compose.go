package copilot

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Composer = (*Dialect)(nil)

// Compose makes messages from neutral parts. Each result is a separate message. A prompt shows its images after its text, so a text
// that follows an image begins another prompt.
func (d *Dialect) Compose(m dialect.NewMessage) ([][]byte, error) {
	parts, results := dialect.Results(dialect.Unlinked(m.Parts))
	var list [][]byte
	switch m.Role {
	case session.RoleUser:
		prose := dialect.Prose(parts)
		if !dialect.Speaks(prose) {
			return nil, dialect.ErrSilent
		}
		for _, said := range prompts(prose) {
			data := d.Content(said)
			if m.Meta {
				data = rawjson.Set(data, "source", []byte(`"system"`))
			}
			list = append(list, message(typeUser, data))
		}
	case session.RoleAssistant:
		// Thinking is not sent, and an answer cannot hold images: with nothing else it would be empty.
		spoken := dialect.Speaks(slices.DeleteFunc(slices.Clone(parts), isUnsaid))
		if !spoken && len(results) == 0 {
			return nil, dialect.ErrSilent
		}
		if spoken {
			list = append(list, message(typeAnswer, composed(m, parts)))
		}
	case session.RoleTool:
		if len(results) == 0 {
			return nil, dialect.NoCall("copilot")
		}
	default:
		return nil, dialect.CannotSay("copilot", m.Role)
	}
	for _, r := range results {
		list = append(list, message(typeResult, resultData(r)))
	}
	return list, nil
}

// isUnsaid reports whether a part adds nothing to an answer that is sent.
func isUnsaid(p session.Part) bool {
	switch p.(type) {
	case session.Text, session.ToolCall:
		return false
	}
	return true
}

// prompts splits parts before each text that follows an image.
func prompts(parts []session.Part) (list [][]session.Part) {
	begin := 0
	for i := 1; i < len(parts); i++ {
		_, picture := parts[i-1].(session.Image)
		if _, text := parts[i].(session.Text); picture && text {
			list = append(list, parts[begin:i])
			begin = i
		}
	}
	return append(list, parts[begin:])
}

// composed is the data of an answer.
func composed(m dialect.NewMessage, parts []session.Part) []byte {
	var said []session.Part
	var calls [][]byte
	var thought session.Thinking
	for _, p := range parts {
		switch p := p.(type) {
		case session.Text:
			said = append(said, p)
		case session.Thinking:
			if !p.Redacted {
				thought.Text += p.Text
				thought.Signature = cmp.Or(p.Signature, thought.Signature)
			}
		case session.ToolCall:
			calls = append(calls, call(p))
		}
	}
	var w dialect.Object
	w.Optional("messageId", m.ID)
	w.Optional("model", m.Model)
	w.Str("content", dialect.TextOf(said))
	w.Add("toolRequests", dialect.Array(calls))
	if thought.Text != "" {
		w.Str("reasoningText", thought.Text)
		w.Optional("reasoningOpaque", thought.Signature)
	}
	if provider := cmp.Or(m.Provider, providerOf(m.Model)); m.Model != "" && provider != providerOf(m.Model) {
		w.Str(providerMember, provider)
	}
	if m.Usage != nil {
		w.Add(usageMember, usageOf(m.Usage))
	}
	return w.End()
}

// call is a call as the program writes it.
func call(p session.ToolCall) []byte {
	var w dialect.Object
	w.Str("toolCallId", p.ID)
	w.Str("name", p.Name)
	w.Add("arguments", dialect.Arguments(p.Arguments))
	w.Str("type", "function")
	return w.End()
}

// resultData is the data of a result. Of a call that failed the program sends only the error.
func resultData(r session.ToolResult) []byte {
	var w, said dialect.Object
	w.Str("toolCallId", r.CallID)
	w.Add("success", strconv.AppendBool(nil, !r.IsError))
	content := dialect.TextOf(r.Parts)
	said.Str("content", content)
	var images [][]byte
	for _, p := range r.Parts {
		if i, ok := p.(session.Image); ok {
			images = append(images, picture(i, "image"))
		}
	}
	if images != nil {
		said.Add("binaryResultsForLlm", dialect.Array(images))
	}
	w.Add("result", said.End())
	if r.IsError {
		var e dialect.Object
		e.Str("message", content)
		e.Str("code", "failure")
		w.Add("error", e.End())
	}
	return w.End()
}

// picture is an image in a prompt or in a result.
func picture(i session.Image, typ string) []byte {
	var w dialect.Object
	w.Str("type", typ)
	w.Str("data", i.Data)
	w.Str("mimeType", i.MIME)
	return w.End()
}

// Content returns texts and images as the members of a message of the user.
func (d *Dialect) Content(parts []session.Part) []byte {
	var images [][]byte
	for _, p := range parts {
		if i, ok := p.(session.Image); ok {
			images = append(images, picture(i, "blob"))
		}
	}
	data := text(dialect.TextOf(parts))
	if images != nil {
		data = rawjson.Set(data, "attachments", dialect.Array(images))
	}
	return data
}
