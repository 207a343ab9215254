package copilot

import (
	"cmp"
	"strconv"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ session.Spender = (*Dialect)(nil)

var (
	modelKeys = []string{"model", providerMember, usageMember}
	usageKeys = []string{"inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"}
)

// usedBy returns the model of an answer, and the usage if the answer itself has it.
func usedBy(data []byte, s *session.Skim) (provider, model string, u session.Usage) {
	var v [3][]byte
	rawjson.Pick(data, modelKeys, v[:])
	model, _ = s.Text(v[0])
	provider, _ = s.Text(v[1])
	return cmp.Or(provider, providerOf(model)), model, usage(v[2])
}

// usage reads the usage of a call of the model. The input includes what was read from the cache and written to it, the output
// includes thinking. The member "cost" is not money: it counts premium requests.
func usage(value []byte) session.Usage {
	if !rawjson.IsObject(value) {
		return session.Usage{}
	}
	var v [4][]byte
	rawjson.Pick(value, usageKeys, v[:])
	input, read, write := dialect.Number(v[0]), dialect.Number(v[2]), dialect.Number(v[3])
	u := session.NewUsage([5]float64{max(input-read-write, 0), dialect.Number(v[1]), read, write}, [5]float64{})
	u.Total = u.Input + u.Output + u.CacheRead + u.CacheWrite
	return u
}

// usageOf encodes the usage of an answer.
func usageOf(u *session.Usage) []byte {
	var w dialect.Object
	for i, n := range [...]int64{u.Input + u.CacheRead + u.CacheWrite, u.Output, u.CacheRead, u.CacheWrite} {
		w.Add(usageKeys[i], strconv.AppendInt(nil, n, 10))
	}
	return w.End()
}

// Spent gives the usage of a call of the model, which is in a separate event, also for calls by sub-agents. A compaction has the usage of
// its own call. An answer of the program has only its model.
func (d *entries) Spent(e session.Entry, raw []byte, take func(session.Spending)) {
	var used []byte
	s := session.Spending{Of: string(e.ID)}
	switch {
	case e.Type == typeUsage:
		used = rawjson.Get(rawjson.Get(raw, "data"), "usage")
		s.Of = cmp.Or(rawjson.Str(used, "apiCallId"), s.Of)
		s.Model = rawjson.Str(used, "model")
		s.Provider, s.Usage = providerOf(s.Model), usage(used)
	case e.Type == typeCompaction:
		used = rawjson.Get(rawjson.Get(raw, "data"), "compactionTokensUsed")
		s.Model = rawjson.Str(used, "model")
		s.Provider, s.Usage = providerOf(s.Model), usage(used)
	case e.Kind == session.KindMessage && e.Role == session.RoleAssistant:
		if s.Provider, s.Model, s.Usage = usedBy(rawjson.Get(raw, "data"), nil); s.Model != "" {
			take(s)
			return
		}
	}
	if s.Usage != (session.Usage{}) {
		take(s)
	}
}
