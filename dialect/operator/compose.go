package operator

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Composer = (*Dialect)(nil)

// Compose makes a message of neutral parts. The answers of tools are one message.
// A tool's answers of one turn stand in one message of the role "tool", and converting must not make several.
func (d *Dialect) Compose(m dialect.NewMessage) ([][]byte, error) {
	parts, results := dialect.Results(m.Parts)
	var list [][]byte
	switch m.Role {
	case session.RoleUser, session.RoleSystem:
		list = append(list, d.compose(m, m.Role.String(), d.Content(dialect.Prose(parts)), nil))
	case session.RoleAssistant:
		list = append(list, d.compose(m, "assistant", d.Content(parts), answer(m)))
	case session.RoleTool:
		if len(results) == 0 {
			return nil, errors.New("the answer of a tool names no call")
		}
	default:
		return nil, fmt.Errorf("a message of the role %q is nothing that %s knows", m.Role, d.name)
	}
	if len(results) > 0 {
		// an id of its own, since two messages come of one
		m.ID += "/results"
		list = append(list, d.compose(m, "tool", resultBlocks(results), nil))
	}
	return list, nil
}

// The order of members is the program's.
func (d *Dialect) compose(m dialect.NewMessage, role string, contents, more []byte) []byte {
	w := writer(`{"contents":`)
	w = append(w, contents...)
	w.str("id", messageID(m.ID))
	w.add("timestamp", seconds(m.Time))
	w.str("role", role)
	w = append(w, more...)
	return append(w, '}')
}

// messageID makes a UUID in the form of version 4 that is the same for the same message.
// Converting the same session twice must give the same bytes, so ids are not made by chance.
func messageID(seed string) string {
	b := sha256.Sum256([]byte(seed))
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:16])
}

// answer gives the members that only an answer of the model has, each with a comma before it.
func answer(m dialect.NewMessage) []byte {
	var w writer = []byte(" ") // not empty: every member gets its comma
	if u := m.Usage; u != nil {
		w = append(w, `,"usage":`...)
		w = append(w, usageJSON(u)...)
	}
	w = append(w, `,"stop_reason":`...)
	w = rawjson.AppendString(w, stopReason(m))
	w = append(w, `,"error":`...)
	w = rawjson.AppendString(w, m.Error)
	return w[1:]
}

// usageJSON writes all members, as the program does.
func usageJSON(u *session.Usage) []byte {
	count := func(n int64) []byte { return strconv.AppendInt(nil, n, 10) }
	// Costs are floats to the program, and Python spells whole ones with ".0".
	money := func(f float64) []byte {
		out := strconv.AppendFloat(nil, f, 'g', -1, 64)
		if f == float64(int64(f)) && f < 1e15 {
			out = append(strconv.AppendInt(nil, int64(f), 10), ".0"...)
		}
		return out
	}
	var w, cost writer = []byte("{"), []byte("{")
	w.add("input_tokens", count(u.Input))
	w.add("output_tokens", count(u.Output))
	w.add("cache_read_tokens", count(u.CacheRead))
	w.add("cache_write_tokens", count(u.CacheWrite))
	cost.add("input", money(u.Costs.Input))
	cost.add("output", money(u.Costs.Output))
	cost.add("cache_read", money(u.Costs.CacheRead))
	cost.add("cache_write", money(u.Costs.CacheWrite))
	cost.add("total", money(u.Cost))
	w.add("cost", append(cost, '}'))
	return append(w, '}')
}

// Where the other agent said nothing, it follows from what the answer holds.
func stopReason(m dialect.NewMessage) string {
	switch m.Stop {
	case dialect.StopEnd, dialect.StopLength, dialect.StopError:
		return string(m.Stop)
	case dialect.StopTools:
		return "tool_calls"
	case dialect.StopAborted:
		return "abort"
	case dialect.StopFilter:
		return "content_filter"
	}
	if m.Error != "" {
		return "error"
	}
	for _, p := range m.Parts {
		if _, ok := p.(session.ToolCall); ok {
			return "tool_calls"
		}
	}
	return "stop"
}

// Content gives parts as blocks; what the program has no block for is left out.
func (d *Dialect) Content(parts []session.Part) []byte {
	out := []byte{'['}
	for _, p := range parts {
		var w writer
		switch p := p.(type) {
		case session.Text:
			w = writer(`{"type":"text"`)
			w.str("content", p.Text)
		case session.Thinking:
			w = writer(`{"type":"thinking"`)
			w.str("content", p.Text)
			w.str("signature", p.Signature)
		case session.ToolCall:
			w = writer(`{"type":"tool_call"`)
			w.str("id", p.ID)
			w.str("name", p.Name)
			w.add("args", args(p.Arguments))
			w.add("metadata", []byte("{}"))
		case session.Image:
			w = writer(`{"type":"image"`)
			w.add("images", append(append([]byte{'['}, rawjson.Quote(p.Data)...), ']'))
		default:
			continue
		}
		out = appendBlock(out, append(w, '}'))
	}
	return append(out, ']')
}

// args are an object to the program: what is none would lose it the entry.
func args(arguments []byte) []byte {
	if !rawjson.IsObject(arguments) || !rawjson.Valid(arguments) {
		return []byte("{}")
	}
	return rawjson.Compact(arguments)
}

func appendBlock(out, block []byte) []byte {
	if len(out) > 1 {
		out = append(out, ',')
	}
	return append(out, block...)
}

// resultBlocks gives the answers of tools. Their content is one text.
func resultBlocks(results []session.ToolResult) []byte {
	out := []byte{'['}
	for _, r := range results {
		w := writer(`{"type":"tool_result"`)
		w.str("id", r.CallID)
		w.str("content", dialect.TextOf(r.Parts))
		w.add("is_error", strconv.AppendBool(nil, r.IsError))
		w.add("metadata", []byte("{}"))
		w.add("terminate", []byte("false"))
		out = appendBlock(out, append(w, '}'))
	}
	return append(out, ']')
}

// SetOrigin adds a member. The program passes over those that it does not know, and loses them when it rewrites a file.
func (d *Dialect) SetOrigin(record, origin []byte) []byte {
	return dialect.SetOrigin(record, escape(origin))
}

// Origin takes it out again.
func (d *Dialect) Origin(record []byte) (origin, bare []byte) { return dialect.Origin(record) }
