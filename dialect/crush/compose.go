package crush

import (
	"strconv"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/rowlog"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Composer = (*Dialect)(nil)

// stops are the program's words for why an answer ended.
var stops = map[dialect.Stop]string{
	dialect.StopEnd: "end_turn", dialect.StopLength: "max_tokens", dialect.StopTools: "tool_use", dialect.StopFilter: "content_filter",
	dialect.StopError: "error", dialect.StopAborted: canceled,
}

// Compose makes a message from neutral parts. The program sends only one text of a message, so texts are joined. It sends no image that is
// only an address.
func (d *Dialect) Compose(m dialect.NewMessage) ([][]byte, error) {
	m.Parts = dialect.Unlinked(m.Parts)
	at := rowlog.Integer(m.Time.Unix())
	list, results, err := dialect.ComposeTurn(m, "Crush", func(parts []session.Part) []byte {
		return message(m, "user", append(saidParts(parts), finish("stop", "", at)))
	}, func(parts []session.Part) []byte {
		return message(m, "assistant", append(saidParts(parts), finish(dialect.StopWord(m, stops), m.Error, at)))
	})
	if err != nil || len(results) == 0 {
		return list, err
	}
	var parts [][]byte
	for _, r := range results {
		parts = append(parts, resultPart(r))
	}
	return append(list, message(m, "tool", append(parts, finish("stop", "", at)))), nil
}

func message(m dialect.NewMessage, role string, parts [][]byte) []byte {
	var w dialect.Object
	w.Str("role", role)
	w.Add("parts", dialect.Array(parts))
	if role == "assistant" {
		w.Optional("model", m.Model)
		w.Optional("provider", m.Provider)
	}
	return w.End()
}

func part(kind string, data dialect.Object) []byte {
	var w dialect.Object
	w.Str("type", kind)
	w.Add("data", data.End())
	return w.End()
}

func finish(reason, message string, at []byte) []byte {
	var w dialect.Object
	w.Str("reason", reason)
	w.Add("time", at)
	w.Optional("message", message)
	return part("finish", w)
}

// saidParts returns thinking, then one text, then images and calls.
func saidParts(parts []session.Part) (list [][]byte) {
	var rest [][]byte
	for _, p := range parts {
		var w dialect.Object
		switch p := p.(type) {
		case session.Thinking:
			w.Str("thinking", p.Text)
			w.Str("signature", p.Signature)
			list = append(list, part("reasoning", w))
		case session.Image:
			rest = append(rest, picture(p))
		case session.ToolCall:
			w.Str("id", p.ID)
			w.Str("name", p.Name)
			w.Str("input", string(rawjson.Compact(p.Arguments)))
			w.Add("provider_executed", []byte("false"))
			w.Add("finished", []byte("true"))
			rest = append(rest, part("tool_call", w))
		}
	}
	if text := dialect.TextOf(parts); text != "" {
		var w dialect.Object
		w.Str("text", text)
		list = append(list, part("text", w))
	}
	return append(list, rest...)
}

func picture(p session.Image) []byte {
	var w dialect.Object
	w.Str("Path", "image")
	w.Str("MIMEType", p.MIME)
	w.Str("Data", p.Data)
	return part("binary", w)
}

// resultPart is a result: a text, and at most one image.
func resultPart(r session.ToolResult) []byte {
	var w dialect.Object
	data, mime := "", ""
	for _, p := range r.Parts {
		if i, ok := p.(session.Image); ok && data == "" {
			data, mime = i.Data, i.MIME
		}
	}
	w.Str("tool_call_id", r.CallID)
	w.Str("name", r.Name)
	w.Str("content", dialect.TextOf(r.Parts))
	w.Str("data", data)
	w.Str("mime_type", mime)
	w.Str("metadata", "")
	w.Add("is_error", strconv.AppendBool(nil, r.IsError))
	return part("tool_result", w)
}

// Content returns texts and pictures as parts. The format has no custom messages.
func (d *Dialect) Content(parts []session.Part) []byte {
	return dialect.Array(saidParts(dialect.Prose(parts)))
}

// SetOrigin adds a member to the data of the last part of a message, which is the reason why it ended, or to our own object in the row of a
// session. The program ignores unknown members.
func (d *Dialect) SetOrigin(raw, origin []byte) []byte {
	origin = rawjson.EscapeBreaks(origin)
	if row := form.Row(raw); row != nil {
		return form.WithRow(raw, setOwn(row, dialect.OriginMember, origin))
	}
	row := form.Said(raw)
	return form.Record(rawjson.Set(row, "parts", rawjson.MapElements(rawjson.Get(row, "parts"), func(p []byte) []byte {
		if rawjson.Str(p, "type") != "finish" {
			return p
		}
		return rawjson.Set(p, "data", dialect.SetOrigin(rawjson.Get(p, "data"), origin))
	})))
}

// lasting are the columns of a session that the program does not change.
var lasting = []string{"id", "created_at"}

// Origin returns the member, and the rest without it and without what the program changes later: all but a few columns of a session.
func (d *Dialect) Origin(raw []byte) (origin, rest []byte) {
	if row := form.Row(raw); row != nil {
		if origin = rawjson.Get(ownOf(row), dialect.OriginMember); origin == nil {
			return nil, raw
		}
		var w dialect.Object
		for _, name := range lasting {
			w.Add(name, rawjson.Get(row, name))
		}
		return origin, form.WithRow(nil, w.End())
	}
	row := form.Said(raw)
	parts := rawjson.MapElements(rawjson.Get(row, "parts"), func(p []byte) []byte {
		if data := rawjson.Get(p, "data"); rawjson.Str(p, "type") == "finish" && rawjson.Get(data, dialect.OriginMember) != nil {
			var bare []byte
			origin, bare = dialect.Origin(data)
			return rawjson.Set(p, "data", bare)
		}
		return p
	})
	if origin == nil {
		return nil, raw
	}
	return origin, form.Record(rawjson.Set(row, "parts", parts))
}
