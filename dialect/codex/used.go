package codex

import (
	"strconv"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// usedMember is a member of a composed item that is never written: the usage of the answer. The log has the usage in an event
// that Frame makes.
const usedMember = "treelineUsed"

// tokens are the members of a usage, as the program writes them. The value of reasoning_output_tokens is unknown.
var tokens = [...]string{"input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens", "reasoning_output_tokens", "total_tokens"}

// used encodes the usage of an answer: the input includes what was read from the cache and written to it.
func used(u *session.Usage) []byte {
	input := u.Input + u.CacheRead + u.CacheWrite
	return spell([len(tokens)]int64{input, u.CacheRead, u.CacheWrite, u.Output, 0, input + u.Output})
}

func spell(numbers [len(tokens)]int64) []byte {
	var w dialect.Object
	for i, key := range tokens {
		w.Add(key, strconv.AppendInt(nil, numbers[i], 10))
	}
	return w.End()
}

// sumUp adds the usage of an answer to that of the thread.
func (f *framing) sumUp(usage []byte) []byte {
	var numbers [len(tokens)]int64
	for i, key := range tokens {
		numbers[i] = dialect.Integer(rawjson.Get(f.sum, key)) + dialect.Integer(rawjson.Get(usage, key))
	}
	return spell(numbers)
}

// most is how many lines are searched for the usage of the thread.
const most = 1000

// spent is the event with the usage of an answer, and that of the thread up to now.
func (f *framing) spent(usage []byte) ([]byte, error) {
	for i := f.t.Len() - 1; i >= max(f.t.Len()-most, 0) && f.sum == nil; i-- {
		e := f.t.At(i)
		if e.Type != typeEvent && e.Type != typeUsage {
			continue
		}
		raw, err := e.Raw()
		if err != nil {
			return nil, err
		}
		payload := rawjson.Get(raw, "payload")
		f.sum = rawjson.Get(payload, "thread_token_usage")
		if rawjson.Str(payload, "type") == eventTokens {
			f.sum = rawjson.Get(rawjson.Get(payload, "info"), "total_token_usage")
		}
	}
	f.sum = f.sumUp(usage)
	var info, w dialect.Object
	info.Add("total_token_usage", f.sum)
	info.Add("last_token_usage", usage)
	info.Add("model_context_window", []byte("null"))
	w.Str("type", eventTokens)
	w.Add("info", info.End())
	w.Add("rate_limits", []byte("null"))
	return f.event(w.End()), nil
}
