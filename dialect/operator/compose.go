package operator

import (
	"crypto/sha256"
	"strconv"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Composer = (*Dialect)(nil)

// Compose makes messages from neutral parts. The tool results of one turn are one message of the role "tool".
func (d *Dialect) Compose(m dialect.NewMessage) ([][]byte, error) {
	list, results, err := dialect.ComposeEach(m, d.Called, func(role string, parts []session.Part) []byte {
		return compose(m, role, d.Content(parts), nil)
	}, func(parts []session.Part) []byte { return compose(m, "assistant", d.Content(parts), answer(m)) })
	if len(results) > 0 {
		m.ID += "/results" // the second message needs its own id
		list = append(list, compose(m, "tool", resultBlocks(results), nil))
	}
	return list, err
}

// compose encodes a message. The order of members is the program's.
func compose(m dialect.NewMessage, role string, contents, more []byte) []byte {
	w := dialect.Object(`{"contents":`)
	w = append(w, contents...)
	w.Str("id", messageID(m.ID))
	w.Add("timestamp", seconds(m.Time))
	w.Str("role", role)
	w = append(w, more...)
	return w.End()
}

// messageID makes a UUID in the form of version 4 from a seed: converting a session twice gives the same bytes.
func messageID(seed string) string {
	sum := sha256.Sum256([]byte(seed))
	return dialect.UUIDv4([16]byte(sum[:]))
}

// answer returns the members that only an answer has, each with a comma before it.
func answer(m dialect.NewMessage) []byte {
	w := dialect.Object(" ") // not empty, so that every member gets its comma
	if m.Usage != nil {
		w.Add("usage", dialect.UsageJSON(m.Usage, usageNames, money))
	}
	w.Str("stop_reason", dialect.StopWord(m, stops))
	w.Str("error", m.Error)
	return w[1:]
}

var usageNames = dialect.UsageNames{
	Tokens: [5]string{"input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", ""},
	Costs:  [5]string{"input", "output", "cache_read", "cache_write", "total"},
}

// money spells a cost like Python: whole numbers end with ".0".
func money(f float64) []byte {
	if f == float64(int64(f)) && f < 1e15 {
		return append(strconv.AppendInt(nil, int64(f), 10), ".0"...)
	}
	return strconv.AppendFloat(nil, f, 'g', -1, 64)
}

// stops are the program's words for why an answer ended.
var stops = map[dialect.Stop]string{
	dialect.StopEnd: "stop", dialect.StopLength: "length", dialect.StopTools: "tool_calls",
	dialect.StopAborted: "abort", dialect.StopError: "error", dialect.StopFilter: "content_filter",
}

// Content returns parts as blocks. Parts for which the program has no block are left out.
func (d *Dialect) Content(parts []session.Part) []byte {
	var list [][]byte
	for _, p := range parts {
		var w dialect.Object
		switch p := p.(type) {
		case session.Text:
			w = dialect.Object(`{"type":"text"`)
			w.Str("content", p.Text)
		case session.Thinking:
			w = dialect.Object(`{"type":"thinking"`)
			w.Str("content", p.Text)
			w.Str("signature", p.Signature)
		case session.ToolCall:
			w = dialect.Object(`{"type":"tool_call"`)
			w.Str("id", p.ID)
			w.Str("name", p.Name)
			w.Add("args", args(p.Arguments))
			w.Add("metadata", []byte("{}"))
		case session.Image:
			w = dialect.Object(`{"type":"image"`)
			w.Add("images", dialect.Array([][]byte{rawjson.Quote(p.Data)}))
		default:
			continue
		}
		list = append(list, w.End())
	}
	return dialect.Array(list)
}

// args returns the arguments of a call. The program drops an entry whose arguments are not an object.
func args(arguments []byte) []byte {
	if !rawjson.IsObject(arguments) || !rawjson.Valid(arguments) {
		return []byte("{}")
	}
	return rawjson.Compact(arguments)
}

// resultBlocks returns tool results as blocks. The content of each is one text.
func resultBlocks(results []session.ToolResult) []byte {
	var list [][]byte
	for _, r := range results {
		w := dialect.Object(`{"type":"tool_result"`)
		w.Str("id", r.CallID)
		w.Str("content", dialect.TextOf(r.Parts))
		w.Add("is_error", strconv.AppendBool(nil, r.IsError))
		w.Add("metadata", []byte("{}"))
		w.Add("terminate", []byte("false"))
		list = append(list, w.End())
	}
	return dialect.Array(list)
}

// SetOrigin adds a member. The program ignores unknown members, and loses them when it rewrites a file.
func (d *Dialect) SetOrigin(record, origin []byte) []byte {
	return dialect.SetOrigin(record, rawjson.EscapeBreaks(origin))
}
