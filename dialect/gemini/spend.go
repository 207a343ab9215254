package gemini

import (
	"strconv"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ session.Spender = (*Dialect)(nil)

// Members that are found in one pass.
var (
	answerKeys = []string{"tokens", "model", providerMember}
	tokenKeys  = []string{"input", "output", "cached", "thoughts", "tool"}
)

// providerMember is a member of an answer that only treeline uses: the provider of the model if it is not Google.
const providerMember = "treelineProvider"

// answered gives the model of an answer and its usage.
func answered(raw []byte, s *session.Skim) (provider, model string, u *session.Usage) {
	var v [3][]byte
	rawjson.Pick(raw, answerKeys, v[:])
	if model, _ = s.Text(v[1]); model != "" {
		provider = "google"
	}
	if other, _ := s.Text(v[2]); other != "" {
		provider = other
	}
	used := usage(v[0])
	return provider, model, &used
}

// usage reads the tokens of an answer. The program counts what was read from the cache as input, too. Thinking becomes output, and
// what tools added to the prompt becomes input.
func usage(tokens []byte) session.Usage {
	if !rawjson.IsObject(tokens) {
		return session.Usage{}
	}
	var v [5][]byte
	rawjson.Pick(tokens, tokenKeys, v[:])
	cached := dialect.Number(v[2])
	u := session.NewUsage([5]float64{max(dialect.Number(v[0])-cached, 0) + dialect.Number(v[4]), dialect.Number(v[1]) + dialect.Number(v[3]), cached}, [5]float64{})
	u.Total = u.Input + u.Output + u.CacheRead
	return u
}

// tokensOf encodes the usage of an answer.
func tokensOf(u *session.Usage) []byte {
	input := u.Input + u.CacheRead + u.CacheWrite
	var w dialect.Object
	for _, t := range [...]struct {
		name  string
		count int64
	}{{"input", input}, {"output", u.Output}, {"cached", u.CacheRead}, {"thoughts", 0}, {"tool", 0}, {"total", input + u.Output}} {
		w.Add(t.name, strconv.AppendInt(nil, t.count, 10))
	}
	return w.End()
}

// Spent gives the usage of an answer. The records of one answer repeat it.
func (d *entries) Spent(e session.Entry, raw []byte, take func(session.Spending)) {
	switch {
	case e.Type == typeAnswer && e.Kind == session.KindMessage:
		spent(raw, take)
	case e.Type == typeSet && e.Kind == session.KindCompaction && e.Tree() != nil:
		// These answers have no record of their own.
		for m := range rawjson.Elements(rawjson.Get(rawjson.Get(raw, typeSet), "messages")) {
			if first, known := e.Tree().Lookup(session.EntryID(rawjson.Str(m, "id"))); !known || first.Index > e.Index {
				spent(m, take)
			}
		}
	}
}

func spent(answer []byte, take func(session.Spending)) {
	provider, model, u := answered(answer, nil)
	if *u != (session.Usage{}) {
		take(session.Spending{Of: rawjson.Str(answer, "id"), Provider: provider, Model: model, Usage: *u})
	}
}
