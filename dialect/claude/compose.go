package claude

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/claude/blocks"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var (
	_ dialect.Composer  = (*Dialect)(nil)
	_ dialect.CallNamer = (*Dialect)(nil)
)

// Compose makes messages from neutral parts: one for each block of an answer, which share an id, and one for each tool
// result. Record moves the members that the program keeps in the line around a message.
func (d *Dialect) Compose(m dialect.NewMessage) ([][]byte, error) {
	list, results, err := dialect.ComposeTurn(m, d.Name(), func(parts []session.Part) []byte {
		return said(typeUser, blocks.Content(parts), m.Meta)
	}, func(parts []session.Part) []byte { return answer(m, parts) })
	if err != nil {
		return nil, err
	}
	if m.Role == session.RoleAssistant {
		list = split(list[0], session.EntryID(m.ID))
	}
	for _, r := range results {
		list = append(list, said(typeUser, dialect.Array([][]byte{blocks.Result(r)}), false))
	}
	return list, nil
}

// said makes a message of the user.
func said(role string, content []byte, meta bool) []byte {
	var w dialect.Object
	w.Str("role", role)
	w.Add("content", content)
	if meta {
		w.Add("isMeta", []byte("true"))
	}
	return w.End()
}

// stops are the provider's words for why an answer ended. There is none for an answer that failed.
var stops = map[dialect.Stop]string{
	dialect.StopEnd: "end_turn", dialect.StopLength: "max_tokens", dialect.StopTools: "tool_use", dialect.StopFilter: "refusal",
}

// answer makes an answer with all its blocks. An answer that failed before it said anything becomes the error, which the program
// shows and does not send.
func answer(m dialect.NewMessage, parts []session.Part) []byte {
	var w dialect.Object
	w.Str("id", messageID(m.ID))
	w.Str("type", "message")
	w.Str("role", typeAssistant)
	silent := !dialect.Speaks(parts)
	if silent {
		w.Str("model", "<synthetic>")
		text := m.Error
		if text == "" {
			text = "The answer was aborted."
		}
		parts = []session.Part{session.Text{Text: text}}
	} else {
		w.Optional("model", m.Model)
	}
	w.Add("content", blocks.List(parts))
	w.Add("stop_reason", []byte("null"))
	if word := dialect.StopWord(m, stops); word != "" && !m.Failed() {
		w = dialect.Object(rawjson.Set(w.End(), "stop_reason", rawjson.Quote(word)))
		w = w[:len(w)-1]
	}
	w.Add("stop_sequence", []byte("null"))
	if m.Usage != nil {
		w.Add("usage", blocks.Usage(m.Usage))
	}
	if silent {
		w.Add("isApiErrorMessage", []byte("true"))
	}
	if m.Error != "" {
		w.Str("error", m.Error)
	}
	return w.End()
}

// Content returns parts as content blocks.
func (d *Dialect) Content(parts []session.Part) []byte { return blocks.List(parts) }

// CallID returns an id in the form that Anthropic uses.
func (d *Dialect) CallID(id string) string { return dialect.PrefixedCallID("toolu_", id) }
