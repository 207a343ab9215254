package claude

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/claude/request"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var (
	_ session.Spender = (*Dialect)(nil)
	_ session.Copier  = (*Dialect)(nil)
)

// CopyID is the uuid, which a fork (--fork-session, /branch) keeps.
func (d *entries) CopyID(_ session.Entry, raw []byte) string { return dialect.UUID(raw, "uuid") }

// typeCosts is a line with the costs of the session so far. They include those of its sub-agents and, in a fork, those of
// the copied part.
const typeCosts = "cost-state"

// Spent gives the tokens of an answer, which each of its lines repeats, and the costs by model. Old versions wrote interim
// numbers in the first lines of an answer.
func (d *entries) Spent(e session.Entry, raw []byte, take func(session.Spending)) {
	switch {
	case e.Kind == session.KindMessage && e.Role == session.RoleAssistant:
		var v [3][]byte
		rawjson.PickIn(raw, "message", spentKeys, v[:])
		s := session.Spending{Provider: provider}
		s.Of, _ = rawjson.Unquote(v[0])
		s.Model, _ = rawjson.Unquote(v[1])
		if s.Model == request.Synthetic {
			return
		}
		if s.Of == "" {
			s.Of = string(e.ID)
		}
		if u := usage(v[2]); u != nil {
			s.Usage = *u
		}
		take(s)
	case e.Kind == session.KindCustom && e.Type == typeCosts:
		for model, used := range rawjson.Fields(rawjson.Get(raw, "modelUsage")) {
			cost := dialect.Number(rawjson.Get(used, "costUSD"))
			take(session.Spending{
				Of: "cost of " + model, Total: true, Provider: provider, Model: model, Usage: session.NewUsage([5]float64{}, [5]float64{4: cost}),
			})
		}
	}
}
