package codex

import (
	"strconv"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ session.Spender = (*Dialect)(nil)

// typeUsage is a line with what a response used; the event eventTokens tells the same, and repeats it.
const (
	typeUsage   = "token_usage_record"
	eventTokens = "token_count"
)

// Spent gives what a response used. Both lines that tell it have the sum of the thread after the response, which names it:
// a repetition has the same sum. After a compaction the event tells the size of the context instead, without input and
// output, which is less than the response used.
func (d *Dialect) Spent(e session.Entry, raw []byte, take func(session.Spending)) {
	if e.Kind != session.KindCustom {
		return
	}
	payload := rawjson.Get(raw, "payload")
	var used, sum []byte
	switch {
	case e.Type == typeUsage:
		used, sum = rawjson.Get(payload, "usage"), rawjson.Get(payload, "thread_token_usage")
	case e.Type == typeEvent && rawjson.Str(payload, "type") == eventTokens:
		info := rawjson.Get(payload, "info")
		used, sum = rawjson.Get(info, "last_token_usage"), rawjson.Get(info, "total_token_usage")
	}
	if !rawjson.IsObject(used) {
		return
	}
	name := rawjson.Str(payload, "response_id")
	if rawjson.IsObject(sum) {
		name = ""
		for _, key := range []string{"input_tokens", "output_tokens", "total_tokens"} {
			name += " " + strconv.FormatInt(dialect.Integer(rawjson.Get(sum, key)), 10)
		}
	}
	take(session.Spending{Of: name, Usage: usage(used)})
}

// usage reads what a response used. The input includes what was read from the cache and written to it, the output
// includes reasoning.
func usage(value []byte) session.Usage {
	number := func(key string) float64 { return dialect.Number(rawjson.Get(value, key)) }
	read, written := number("cached_input_tokens"), number("cache_write_input_tokens")
	u := session.NewUsage([5]float64{max(number("input_tokens")-read-written, 0), number("output_tokens"), read, written}, [5]float64{})
	u.Total = u.Input + u.Output + u.CacheRead + u.CacheWrite
	return u
}
