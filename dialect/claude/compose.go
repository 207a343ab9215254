package claude

import (
	"errors"
	"strconv"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var (
	_ dialect.Composer  = (*Dialect)(nil)
	_ dialect.CallNamer = (*Dialect)(nil)
)

// Compose makes messages from neutral parts: one for each block of an answer, which share an id, and one for each tool
// result. Members that the program keeps in the line around a message are put in by Record.
func (d *Dialect) Compose(m dialect.NewMessage) ([][]byte, error) {
	if m.Role == session.RoleSystem {
		return nil, errors.New("claude has no messages of the role system")
	}
	list, results, err := dialect.ComposeEach(m, d.Name(), func(role string, parts []session.Part) []byte {
		return said(role, content(parts), m.Meta)
	}, func(parts []session.Part) []byte { return answer(m, parts) })
	if err != nil {
		return nil, err
	}
	if m.Role == session.RoleAssistant {
		list = split(list[0], session.EntryID(m.ID))
	}
	for _, r := range results {
		list = append(list, said(typeUser, dialect.Array([][]byte{resultOf(r)}), false))
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

// content gives text and images: a single text as a string.
func content(parts []session.Part) []byte {
	if len(parts) == 1 {
		if t, ok := parts[0].(session.Text); ok {
			return rawjson.Quote(t.Text)
		}
	}
	return blocksOf(parts)
}

// stops are the words of the provider. There is none for an answer that failed.
var stops = map[dialect.Stop]string{
	dialect.StopEnd: "end_turn", dialect.StopLength: "max_tokens", dialect.StopTools: "tool_use", dialect.StopFilter: "refusal",
}

// answer makes an answer with all its blocks. One that failed before it said anything is the error, which the program shows
// and does not send.
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
	w.Add("content", blocksOf(parts))
	w.Add("stop_reason", []byte("null"))
	if word := dialect.StopWord(m, stops); word != "" && !m.Failed() {
		w = dialect.Object(rawjson.Set(w.End(), "stop_reason", rawjson.Quote(word)))
		w = w[:len(w)-1]
	}
	w.Add("stop_sequence", []byte("null"))
	if m.Usage != nil {
		w.Add("usage", usageOf(m.Usage))
	}
	if silent {
		w.Add("isApiErrorMessage", []byte("true"))
	}
	if m.Error != "" {
		w.Str("error", m.Error)
	}
	return w.End()
}

// usageOf spells the usage of an answer. The program records no cost of a single one.
func usageOf(u *session.Usage) []byte {
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

// Content gives parts as content blocks.
func (d *Dialect) Content(parts []session.Part) []byte { return blocksOf(parts) }

// blocksOf gives parts as content blocks. Parts for which the provider has no block are left out.
func blocksOf(parts []session.Part) []byte {
	var list [][]byte
	for _, p := range parts {
		switch p := p.(type) {
		case session.Text:
			list = append(list, textBlock(p.Text).json)
		case session.Thinking:
			list = append(list, thinkingOf(p))
		case session.ToolCall:
			var w dialect.Object
			w.Str("type", blockCall)
			w.Str("id", p.ID)
			w.Str("name", p.Name)
			w.Add("input", input(p.Arguments))
			list = append(list, w.End())
		case session.Image:
			list = append(list, imageOf(p))
		case session.ToolResult:
			list = append(list, resultOf(p))
		}
	}
	return dialect.Array(list)
}

func thinkingOf(t session.Thinking) []byte {
	var w dialect.Object
	if t.Redacted {
		w.Str("type", blockRedacted)
		w.Str("data", t.Signature)
		return w.End()
	}
	w.Str("type", blockThinking)
	w.Str("thinking", t.Text)
	w.Str("signature", t.Signature)
	return w.End()
}

// input gives the arguments of a call. The provider accepts only an object.
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

// resultOf makes the block of a tool result.
func resultOf(r session.ToolResult) []byte {
	var w dialect.Object
	w.Str("tool_use_id", r.CallID)
	w.Str("type", blockResult)
	w.Add("content", content(dialect.Prose(r.Parts)))
	w.Add("is_error", strconv.AppendBool(nil, r.IsError))
	return w.End()
}

// SetOrigin adds a member. The program ignores unknown members and never rewrites a line.
func (d *Dialect) SetOrigin(record, origin []byte) []byte { return dialect.SetOrigin(record, origin) }

// Origin removes it again.
func (d *Dialect) Origin(record []byte) (origin, bare []byte) { return dialect.Origin(record) }

// CallID gives an id as Anthropic makes them.
func (d *Dialect) CallID(id string) string { return dialect.PrefixedCallID("toolu_", id) }
