package goose

import (
	"strconv"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/chat"
	"github.com/treeline-dev/treeline/dialect/rowlog"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Composer = (*Dialect)(nil)

// Compose makes a message from neutral parts. Results are in a message of the user.
func (d *Dialect) Compose(m dialect.NewMessage) ([][]byte, error) {
	m.Parts = dialect.Unlinked(m.Parts)
	list, results, err := dialect.ComposeTurn(m, "Goose", func(parts []session.Part) []byte {
		return message("user", contents(parts), flags(!m.Meta, true))
	}, func(parts []session.Part) []byte {
		// The user sees an answer that failed, the model does not.
		return message("assistant", contents(parts), answerMetadata(m))
	})
	if err != nil || len(results) == 0 {
		return list, err
	}
	var responses [][]byte
	for _, r := range results {
		responses = append(responses, response(r))
	}
	return append(list, message("user", responses, flags(true, true))), nil
}

func message(role string, contents [][]byte, metadata []byte) []byte {
	var w dialect.Object
	w.Str("role", role)
	w.Add("content", dialect.Array(contents))
	w.Add("metadata", metadata)
	return w.End()
}

func flags(user, agent bool) []byte {
	var w dialect.Object
	w.Add("userVisible", strconv.AppendBool(nil, user))
	w.Add("agentVisible", strconv.AppendBool(nil, agent))
	return w.End()
}

// answerMetadata is the metadata of an answer.
func answerMetadata(m dialect.NewMessage) []byte {
	w := flags(true, !m.Failed())
	if m.Model != "" || m.Provider != "" {
		var i dialect.Object
		i.Str("provider", m.Provider)
		i.Str("requestedModel", m.Model)
		w = rawjson.Set(w, "inference", i.End())
	}
	if u := m.Usage; u != nil {
		var n dialect.Object
		n.Add("inputTokens", rowlog.Integer(u.Input+u.CacheRead+u.CacheWrite))
		n.Add("outputTokens", rowlog.Integer(u.Output))
		n.Add("totalTokens", rowlog.Integer(u.Input+u.CacheRead+u.CacheWrite+u.Output))
		if u.CacheRead > 0 {
			n.Add("cacheReadTokens", rowlog.Integer(u.CacheRead))
		}
		if u.CacheWrite > 0 {
			n.Add("cacheWriteTokens", rowlog.Integer(u.CacheWrite))
		}
		w = rawjson.Set(w, "usage", n.End())
	}
	if m.Failed() {
		var f dialect.Object
		f.Str("stop", dialect.StopWord(m, map[dialect.Stop]string{dialect.StopError: "error", dialect.StopAborted: "aborted"}))
		f.Str("error", m.Error)
		w = rawjson.Set(w, failedMember, f.End())
	}
	return w
}

// contents encodes texts, images, thinking and calls.
func contents(parts []session.Part) (list [][]byte) {
	for _, p := range parts {
		switch p := p.(type) {
		case session.Text:
			if p.Text != "" {
				list = append(list, chat.Text(p.Text))
			}
		case session.Image:
			list = append(list, image(p))
		case session.Thinking:
			list = append(list, thinking(p))
		case session.ToolCall:
			list = append(list, request(p))
		}
	}
	return list
}

func thinking(p session.Thinking) []byte {
	var w dialect.Object
	if p.Redacted {
		w.Str("type", "redactedThinking")
		w.Str("data", p.Signature)
		return w.End()
	}
	w.Str("type", "thinking")
	w.Str("thinking", p.Text)
	w.Str("signature", p.Signature)
	return w.End()
}

func image(p session.Image) []byte {
	var w dialect.Object
	w.Str("type", "image")
	w.Str("data", p.Data)
	w.Str("mimeType", p.MIME)
	return w.End()
}

// request is a call.
func request(c session.ToolCall) []byte {
	var value, call, w dialect.Object
	value.Str("name", c.Name)
	value.Add("arguments", dialect.Arguments(c.Arguments))
	call.Str("status", "success")
	call.Add("value", value.End())
	w.Str("type", "toolRequest")
	w.Str("id", c.ID)
	w.Add("toolCall", call.End())
	return w.End()
}

// response is a result.
func response(r session.ToolResult) []byte {
	var value, result, w dialect.Object
	value.Add("content", dialect.Array(contents(dialect.Prose(r.Parts))))
	value.Add("isError", strconv.AppendBool(nil, r.IsError))
	if r.Session != "" {
		var meta dialect.Object
		meta.Str("subagent_session_id", string(r.Session))
		value.Add("_meta", meta.End())
	}
	result.Str("status", "success")
	result.Add("value", value.End())
	w.Str("type", "toolResponse")
	w.Str("id", r.CallID)
	w.Add("toolResult", result.End())
	return w.End()
}

// Content returns texts and pictures. The format has no custom messages.
func (d *Dialect) Content(parts []session.Part) []byte {
	return dialect.Array(contents(dialect.Prose(parts)))
}

// SetOrigin adds a member to the metadata of a message, or to the extension data of a session.
func (d *Dialect) SetOrigin(raw, origin []byte) []byte {
	origin = rawjson.EscapeBreaks(origin)
	if row := form.Row(raw); row != nil {
		return form.WithRow(raw, setExtension(row, dialect.OriginMember, origin))
	}
	row := form.Said(raw)
	metadata := rawjson.Get(row, "metadata_json")
	if !rawjson.IsObject(metadata) {
		metadata = []byte("{}")
	}
	return form.Record(rawjson.Set(row, "metadata_json", dialect.SetOrigin(metadata, origin)))
}

// lasting are the columns of a session that the program does not change.
var lasting = []string{"id", "working_dir", "created_at", "parent_session_id"}

// Origin returns the member, and the rest without it and without what the program changes later: all but a few columns of a session, and
// the flags of a message.
func (d *Dialect) Origin(raw []byte) (origin, rest []byte) {
	if row := form.Row(raw); row != nil {
		if origin = rawjson.Get(rawjson.Get(row, "extension_data"), dialect.OriginMember); origin == nil {
			return nil, raw
		}
		var w dialect.Object
		for _, name := range lasting {
			if v := rawjson.Get(row, name); v != nil {
				w.Add(name, v)
			}
		}
		return origin, form.WithRow(nil, w.End())
	}
	row := form.Said(raw)
	metadata := rawjson.Get(row, "metadata_json")
	if !rawjson.IsObject(metadata) {
		return nil, raw
	}
	origin, metadata = dialect.Origin(metadata)
	metadata = rawjson.Delete(rawjson.Delete(metadata, "userVisible"), "agentVisible")
	return origin, form.Record(rawjson.Set(row, "metadata_json", metadata))
}
