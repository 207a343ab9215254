package pi

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Composer = (*Dialect)(nil)

// Compose makes a message of neutral parts. Each answer of a tool is a message of its own.
// Pictures in an answer of a tool stay, unlike in other families: the content of a toolResult takes them.
func (d *Dialect) Compose(m dialect.NewMessage) ([][]byte, error) {
	parts, results := dialect.Results(m.Parts)
	var list [][]byte
	switch m.Role {
	case session.RoleUser, session.RoleSystem:
		w := object(`"role":"` + m.Role.String() + `"`)
		w.add("content", d.Content(dialect.Prose(parts)))
		list = append(list, stamped(w, m.Time))
	case session.RoleAssistant:
		list = append(list, d.answer(m, parts))
	case session.RoleTool:
		if len(results) == 0 {
			return nil, errors.New("the answer of a tool names no call")
		}
	default:
		return nil, fmt.Errorf("a message of the role %q is nothing that %s knows", m.Role, d.name)
	}
	for _, r := range results {
		w := object(`"role":"toolResult"`)
		w.add("toolCallId", rawjson.Quote(r.CallID))
		w.add("toolName", rawjson.Quote(r.Name))
		w.add("content", d.Content(r.Parts))
		w.add("isError", strconv.AppendBool(nil, r.IsError))
		list = append(list, stamped(w, m.Time))
	}
	return list, nil
}

// answer is a message of the model, with all that the programs count on finding in one.
// The programs add up usage and cost without asking whether they are there, so they always are.
func (d *Dialect) answer(m dialect.NewMessage, parts []session.Part) []byte {
	w := object(`"role":"assistant"`)
	w.add("content", d.Content(parts))
	w.add("api", []byte(`"treeline"`))
	w.add("provider", rawjson.Quote(m.Provider))
	w.add("model", rawjson.Quote(m.Model))
	u := m.Usage
	if u == nil {
		u = &session.Usage{}
	}
	w.add("usage", usageJSON(u))
	w.add("stopReason", rawjson.Quote(stopReason(m)))
	if m.Error != "" {
		w.add("errorMessage", rawjson.Quote(m.Error))
	}
	return stamped(w, m.Time)
}

// pi has no word for an answer that a filter stopped; an error comes nearest.
func stopReason(m dialect.NewMessage) string {
	switch m.Stop {
	case dialect.StopEnd, dialect.StopLength, dialect.StopError, dialect.StopAborted:
		return string(m.Stop)
	case dialect.StopTools:
		return "toolUse"
	case dialect.StopFilter:
		return "error"
	}
	if m.Error != "" {
		return "error"
	}
	for _, p := range m.Parts {
		if _, ok := p.(session.ToolCall); ok {
			return "toolUse"
		}
	}
	return "stop"
}

// usageJSON writes all members, because the programs add them up.
func usageJSON(u *session.Usage) []byte {
	count := func(n int64) []byte { return strconv.AppendInt(nil, n, 10) }
	money := func(f float64) []byte { return strconv.AppendFloat(nil, f, 'g', -1, 64) }
	var w, cost writer = []byte("{"), []byte("{")
	w.add("input", count(u.Input))
	w.add("output", count(u.Output))
	w.add("cacheRead", count(u.CacheRead))
	w.add("cacheWrite", count(u.CacheWrite))
	w.add("totalTokens", count(u.Total))
	cost.add("input", money(u.Costs.Input))
	cost.add("output", money(u.Costs.Output))
	cost.add("cacheRead", money(u.Costs.CacheRead))
	cost.add("cacheWrite", money(u.Costs.CacheWrite))
	cost.add("total", money(u.Cost))
	w.add("cost", append(cost, '}'))
	return append(w, '}')
}

// stamped ends a message with its time.
func stamped(w writer, at time.Time) []byte {
	w.add("timestamp", strconv.AppendInt(nil, at.UnixMilli(), 10))
	return append(w, '}')
}

// Content gives parts as blocks; what the family has no block for is left out.
// An empty list is a content, too.
func (d *Dialect) Content(parts []session.Part) []byte {
	out := []byte{'['}
	for _, p := range parts {
		var w writer
		switch p := p.(type) {
		case session.Text:
			w = object(`"type":"text"`)
			w.add("text", rawjson.Quote(p.Text))
		case session.Thinking:
			w = object(`"type":"thinking"`)
			w.add("thinking", rawjson.Quote(p.Text))
			if p.Signature != "" {
				w.add("thinkingSignature", rawjson.Quote(p.Signature))
			}
		case session.ToolCall:
			w = object(`"type":"toolCall"`)
			w.add("id", rawjson.Quote(p.ID))
			w.add("name", rawjson.Quote(p.Name))
			// Arguments are an object to the programs, and what a model was cut off in is none.
			arguments := p.Arguments
			if !rawjson.Valid(arguments) {
				arguments = session.Raw("{}")
			}
			w.add("arguments", rawjson.Compact(arguments))
		case session.Image:
			w = object(`"type":"image"`)
			w.add("data", rawjson.Quote(p.Data))
			w.add("mimeType", rawjson.Quote(p.MIME))
		default:
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(out, w...), '}')
	}
	return append(out, ']')
}

// SetOrigin adds a member: the programs pass over those that they do not know.
func (d *Dialect) SetOrigin(record, origin []byte) []byte { return dialect.SetOrigin(record, origin) }

// Origin takes it out again.
func (d *Dialect) Origin(record []byte) (origin, bare []byte) { return dialect.Origin(record) }
