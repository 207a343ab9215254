package opencode

import (
	"fmt"
	"strconv"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/chat"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Composer = (*Dialect)(nil)

// Compose makes a message from neutral parts. A result becomes part of its call.
func (d *Dialect) Compose(m dialect.NewMessage) ([][]byte, error) {
	switch m.Role {
	case session.RoleUser:
		prose := dialect.Prose(m.Parts)
		if !dialect.Speaks(prose) {
			return nil, dialect.ErrSilent
		}
		var list [][]byte
		for _, p := range saidParts(prose) {
			if m.Meta && rawjson.Str(p, "type") == "text" {
				p = rawjson.Set(p, "synthetic", []byte("true"))
			}
			list = append(list, p)
		}
		return [][]byte{message(userInfo(m), list)}, nil
	case session.RoleAssistant:
		parts, results := dialect.Results(m.Parts)
		if !dialect.Speaks(parts) && !m.Failed() {
			return nil, dialect.ErrSilent
		}
		return [][]byte{message(answerInfo(m), answerParts(m, parts, results))}, nil
	case session.RoleTool:
		return nil, fmt.Errorf("a tool result without its call is %w", dialect.ErrUnsupported)
	}
	return nil, dialect.CannotSay("OpenCode", m.Role)
}

func message(info []byte, parts [][]byte) []byte {
	var w dialect.Object
	w.Add("info", info)
	w.Add("parts", dialect.Array(parts))
	return w.End()
}

// userInfo is the data of a prompt. Without a model the program uses the one in its settings.
func userInfo(m dialect.NewMessage) []byte {
	var w, times dialect.Object
	w.Str("role", "user")
	times.Add("created", millis(m.Time.UnixMilli()))
	w.Add("time", times.End())
	w.Str("agent", "build")
	if m.Model != "" && m.Provider != "" {
		var model dialect.Object
		model.Str("providerID", m.Provider)
		model.Str("modelID", m.Model)
		w.Add("model", model.End())
	}
	return w.End()
}

// stops are the program's words for why an answer ended.
var stops = map[dialect.Stop]string{
	dialect.StopEnd: "stop", dialect.StopLength: "length", dialect.StopTools: "tool-calls", dialect.StopFilter: "content-filter",
	dialect.StopError: "error", dialect.StopAborted: "error",
}

// answerInfo is the data of an answer. Frame adds what depends on the log.
func answerInfo(m dialect.NewMessage) []byte {
	var w, times, tokens, cache dialect.Object
	at := millis(m.Time.UnixMilli())
	w.Str("parentID", "")
	w.Str("role", "assistant")
	w.Str("mode", "build")
	w.Str("agent", "build")
	u := m.Usage
	if u == nil {
		u = &session.Usage{}
	}
	w.Add("cost", strconv.AppendFloat(nil, u.Cost, 'g', -1, 64))
	tokens.Add("input", millis(u.Input))
	tokens.Add("output", millis(u.Output))
	tokens.Add("reasoning", []byte("0"))
	cache.Add("read", millis(u.CacheRead))
	cache.Add("write", millis(u.CacheWrite))
	tokens.Add("cache", cache.End())
	w.Add("tokens", tokens.End())
	w.Str("modelID", m.Model)
	w.Str("providerID", m.Provider)
	times.Add("created", at)
	times.Add("completed", at)
	w.Add("time", times.End())
	w.Str("finish", dialect.StopWord(m, stops))
	if m.Failed() {
		var failed, data dialect.Object
		name := "UnknownError"
		if m.Stop == dialect.StopAborted {
			name = aborted
		}
		failed.Str("name", name)
		data.Str("message", m.Error)
		failed.Add("data", data.End())
		w.Add("error", failed.End())
	}
	return w.End()
}

// saidParts returns texts and images as parts.
func saidParts(parts []session.Part) (list [][]byte) {
	for _, p := range parts {
		switch p := p.(type) {
		case session.Text:
			if p.Text != "" {
				list = append(list, chat.Text(p.Text))
			}
		case session.Image:
			list = append(list, picture(p))
		}
	}
	return list
}

func picture(p session.Image) []byte {
	var w dialect.Object
	w.Str("type", "file")
	mime := p.MIME
	if mime == "" {
		mime = "image/png"
	}
	w.Str("mime", mime)
	w.Str("filename", "image")
	w.Str("url", dialect.ImageURL(p))
	return w.End()
}

// answerParts returns the parts of an answer in their order.
func answerParts(m dialect.NewMessage, parts []session.Part, results []session.ToolResult) (list [][]byte) {
	var span dialect.Object
	at := millis(m.Time.UnixMilli())
	span.Add("start", at)
	span.Add("end", at)
	of := map[string]session.ToolResult{}
	for _, r := range results {
		of[r.CallID] = r
	}
	for _, p := range parts {
		switch p := p.(type) {
		case session.Text:
			if p.Text != "" {
				list = append(list, rawjson.Set(chat.Text(p.Text), "time", span.End()))
			}
		case session.Image:
			list = append(list, picture(p))
		case session.Thinking:
			list = append(list, thought(p, span.End()))
		case session.ToolCall:
			r, ok := of[p.ID]
			list = append(list, toolPart(p, r, ok, span.End()))
		}
	}
	return list
}

// thought is a reasoning part. The program keeps the signature of Anthropic's models under its name.
func thought(p session.Thinking, span []byte) []byte {
	var w dialect.Object
	w.Str("type", "reasoning")
	w.Str("text", p.Text)
	if p.Signature != "" {
		name := "signature"
		if p.Redacted {
			name = "redactedData"
		}
		var inner, outer dialect.Object
		inner.Str(name, p.Signature)
		outer.Add("anthropic", inner.End())
		w.Add("metadata", outer.End())
	}
	w.Add("time", span)
	return w.End()
}

// toolPart is a call with its result. A call without one is pending; the program tells the model that it was interrupted.
func toolPart(c session.ToolCall, r session.ToolResult, done bool, span []byte) []byte {
	var w, state dialect.Object
	input := []byte(rawjson.Compact(c.Arguments))
	if rawjson.IsNull(input) {
		input = []byte("{}")
	}
	w.Str("type", "tool")
	w.Str("callID", c.ID)
	w.Str("tool", c.Name)
	switch {
	case !done:
		state.Str("status", "pending")
		state.Add("input", input)
		state.Str("raw", "")
	case r.IsError:
		state.Str("status", "error")
		state.Add("input", input)
		state.Str("error", dialect.TextOf(r.Parts))
		state.Add("time", span)
	default:
		state.Str("status", "completed")
		state.Add("input", input)
		state.Str("output", dialect.TextOf(r.Parts))
		state.Str("title", c.Name)
		state.Add("metadata", []byte("{}"))
		state.Add("time", span)
		var files [][]byte
		for _, p := range r.Parts {
			if i, ok := p.(session.Image); ok {
				files = append(files, picture(i))
			}
		}
		if files != nil {
			state.Add("attachments", dialect.Array(files))
		}
	}
	w.Add("state", state.End())
	return w.End()
}

// Content returns texts and images as parts. The format has no custom messages.
func (d *Dialect) Content(parts []session.Part) []byte {
	return dialect.Array(saidParts(dialect.Prose(parts)))
}

// SetOrigin adds a member to the data of a message, or to the metadata of a session. The program keeps both and does not
// send them.
func (d *Dialect) SetOrigin(raw, origin []byte) []byte {
	if row := rowOf(raw); row != nil {
		metadata := rawjson.Get(row, "metadata")
		if !rawjson.IsObject(metadata) {
			metadata = []byte("{}")
		}
		return header(form.SetColumn(row, "metadata", rawjson.EscapeBreaks(dialect.SetOrigin(metadata, origin))))
	}
	return setData(raw, rawjson.EscapeBreaks(dialect.SetOrigin(rawjson.Get(rawjson.Get(raw, "message"), "data"), origin)))
}

// lasting are the columns of a session that the program does not change.
var lasting = []string{"id", "parent_id", "directory", "version", "time_created"}

// Origin returns the member, and the rest without it and without what the program changes later: the times and sums of a session, the
// times of a message, and the summary that it adds to a prompt.
func (d *Dialect) Origin(raw []byte) (origin, rest []byte) {
	if row := rowOf(raw); row != nil {
		if origin = rawjson.Get(rawjson.Get(row, "metadata"), dialect.OriginMember); origin == nil {
			return nil, raw
		}
		var w dialect.Object
		for _, name := range lasting {
			if v := rawjson.Get(row, name); v != nil {
				w.Add(name, v)
			}
		}
		return origin, header(w.End())
	}
	row := rawjson.Get(raw, "message")
	info := rawjson.Get(row, "data")
	if !rawjson.IsObject(info) {
		return nil, raw
	}
	if origin = rawjson.Get(info, dialect.OriginMember); origin != nil {
		info = rawjson.Delete(info, dialect.OriginMember)
	}
	if rawjson.Str(info, "role") == "user" {
		info = rawjson.Delete(info, "summary")
	}
	row = rawjson.Delete(rawjson.Set(row, "data", info), "time_updated")
	return origin, rawjson.Set(raw, "message", row)
}
