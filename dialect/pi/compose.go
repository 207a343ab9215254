package pi

import (
	"cmp"
	"strconv"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var (
	_ dialect.Composer  = (*Dialect)(nil)
	_ dialect.Commander = (*Dialect)(nil)
)

// Compose makes messages from neutral parts. Each tool result is a separate message, and keeps its images.
func (d *Dialect) Compose(m dialect.NewMessage) ([][]byte, error) {
	if c := m.Command; c != nil && (c.Tool == "bash" || d.omp) {
		return [][]byte{executed(m)}, nil
	}
	list, results, err := dialect.ComposeEach(m, d.Called, func(role string, parts []session.Part) []byte {
		w := object(`"role":"` + role + `"`)
		w.Add("content", d.Content(parts))
		return stamped(w, m.Time)
	}, func(parts []session.Part) []byte { return d.answer(m, parts) })
	for _, r := range results {
		w := object(`"role":"toolResult"`)
		w.Str("toolCallId", r.CallID)
		w.Str("toolName", r.Name)
		w.Add("content", d.Content(r.Parts))
		w.Add("isError", strconv.AppendBool(nil, r.IsError))
		list = append(list, stamped(w, m.Time))
	}
	return list, err
}

// answer is a message of the model with all members that the programs expect. They add up usage and cost without checking
// for the members, so these are always written.
func (d *Dialect) answer(m dialect.NewMessage, parts []session.Part) []byte {
	w := object(`"role":"assistant"`)
	w.Add("content", d.Content(parts))
	w.Add("api", []byte(`"treeline"`))
	// The programs join the two with a slash; an empty one would give a name that no model has.
	w.Str("provider", cmp.Or(m.Provider, unknown))
	w.Str("model", cmp.Or(m.Model, unknown))
	u := m.Usage
	if u == nil {
		u = &session.Usage{}
	}
	w.Add("usage", dialect.UsageJSON(u, usageNames, money))
	w.Str("stopReason", dialect.StopWord(m, stops))
	w.Optional("errorMessage", m.Error)
	return stamped(w, m.Time)
}

// unknown is the provider or model of an answer whose log does not name it.
const unknown = "unknown"

// executed is the message of a command that the user ran.
func executed(m dialect.NewMessage) []byte {
	c := m.Command
	code := "command"
	if c.Tool == "python" {
		code = "code"
	}
	var w dialect.Object
	w.Str("role", c.Tool+"Execution")
	w.Str(code, c.Code)
	w.Str("output", c.Output)
	if c.Exit != nil {
		w.Add("exitCode", c.Exit)
	}
	w.Add("cancelled", strconv.AppendBool(nil, c.Cancelled))
	w.Add("truncated", []byte("false"))
	if c.Hidden {
		w.Add("excludeFromContext", []byte("true"))
	}
	return stamped(w, m.Time)
}

// Command parses the message of a command.
func (d *Dialect) Command(m []byte) (c dialect.Command, ok bool) {
	var code string
	switch rawjson.Str(m, "role") {
	case "bashExecution":
		c.Tool, code = "bash", "command"
	case "pythonExecution":
		c.Tool, code = "python", "code"
	default:
		return c, false
	}
	c.Code, c.Output = rawjson.Str(m, code), rawjson.Str(m, "output")
	if exit := rawjson.Get(m, "exitCode"); dialect.IsNumber(exit) {
		c.Exit = exit
	}
	c.Cancelled = rawjson.Truthy(rawjson.Get(m, "cancelled"))
	c.Hidden = rawjson.Truthy(rawjson.Get(m, "excludeFromContext"))
	return c, true
}

// stops are the family's words for why an answer ended. For an answer that a filter stopped, an error comes nearest.
var stops = map[dialect.Stop]string{
	dialect.StopEnd: "stop", dialect.StopLength: "length", dialect.StopTools: "toolUse",
	dialect.StopAborted: "aborted", dialect.StopError: "error", dialect.StopFilter: "error",
}

var usageNames = dialect.UsageNames{
	Tokens: [5]string{"input", "output", "cacheRead", "cacheWrite", "totalTokens"},
	Costs:  [5]string{"input", "output", "cacheRead", "cacheWrite", "total"},
}

func money(f float64) []byte { return strconv.AppendFloat(nil, f, 'g', -1, 64) }

// stamped ends a message with its time.
func stamped(w dialect.Object, at time.Time) []byte {
	w.Add("timestamp", strconv.AppendInt(nil, at.UnixMilli(), 10))
	return w.End()
}

// Content returns parts as blocks. Parts for which the family has no block are left out.
func (d *Dialect) Content(parts []session.Part) []byte {
	var list [][]byte
	for _, p := range parts {
		var w dialect.Object
		switch p := p.(type) {
		case session.Text:
			w = object(`"type":"text"`)
			w.Str("text", p.Text)
		case session.Thinking:
			w = object(`"type":"thinking"`)
			w.Str("thinking", p.Text)
			w.Optional("thinkingSignature", p.Signature)
			if p.Redacted {
				w.Add("redacted", []byte("true"))
			}
		case session.ToolCall:
			w = object(`"type":"toolCall"`)
			w.Str("id", p.ID)
			w.Str("name", p.Name)
			// The programs expect an object; the arguments of an answer that was cut off may not be JSON.
			arguments := p.Arguments
			if !rawjson.Valid(arguments) {
				arguments = session.Raw("{}")
			}
			w.Add("arguments", rawjson.Compact(arguments))
		case session.Image:
			w = object(`"type":"image"`)
			w.Str("data", p.Data)
			w.Str("mimeType", p.MIME)
		default:
			continue
		}
		list = append(list, w.End())
	}
	return dialect.Array(list)
}
