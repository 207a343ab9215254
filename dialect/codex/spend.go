package codex

import (
	"strconv"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ session.Spender = (*Dialect)(nil)

// typeUsage is a line with the usage of a response; the event eventTokens has the same usage, and may be repeated.
const (
	typeUsage   = "token_usage_record"
	eventTokens = "token_count"
)

// Members that are found in one pass.
var (
	spentKeys = []string{"usage", "thread_token_usage", "response_id", "info"}
	infoKeys  = []string{"last_token_usage", "total_token_usage"}
	sumKeys   = []string{"input_tokens", "output_tokens", "total_tokens"}
	usageKeys = []string{"input_tokens", "output_tokens", "cached_input_tokens", "cache_write_input_tokens"}
)

// Spent gives the usage of a response. Both kinds of lines have the sum of the thread after the response, which serves as its name:
// a repetition has the same sum. After a compaction the event gives the size of the context instead, without input and
// output; that is less than the usage of the response.
func (d *entries) Spent(e session.Entry, raw []byte, take func(session.Spending)) {
	told := e.Type == typeEvent && eventOf(raw) == eventTokens
	if !told && e.Type != typeUsage {
		return
	}
	var v [4][]byte
	rawjson.PickIn(raw, "payload", spentKeys, v[:])
	if told {
		rawjson.Pick(v[3], infoKeys, v[:2])
	}
	used, sum := v[0], v[1]
	if !rawjson.IsObject(used) {
		return
	}
	var name string
	if rawjson.IsObject(sum) {
		var numbers [3][]byte
		rawjson.Pick(sum, sumKeys, numbers[:])
		var spelled []byte
		for _, n := range numbers {
			spelled = strconv.AppendInt(append(spelled, ' '), dialect.Integer(n), 10)
		}
		name = string(spelled)
	} else {
		name, _ = rawjson.Unquote(v[2])
	}
	take(session.Spending{Of: name, Usage: usage(used)})
}

// usage reads the usage of a response. Input includes what was read from the cache and written to it, output
// includes reasoning.
func usage(value []byte) session.Usage {
	var v [4][]byte
	rawjson.Pick(value, usageKeys, v[:])
	read, written := dialect.Number(v[2]), dialect.Number(v[3])
	u := session.NewUsage([5]float64{max(dialect.Number(v[0])-read-written, 0), dialect.Number(v[1]), read, written}, [5]float64{})
	u.Total = u.Input + u.Output + u.CacheRead + u.CacheWrite
	return u
}
