package goose

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var (
	_ session.Spender = (*reader)(nil)
	_ session.Copier  = (*reader)(nil)
)

// CopyID is the id of a message with its time: a fork of the program copies both, and does not name its source. Ids of answers come from
// the provider, so an id alone would not suffice.
func (d *entries) CopyID(_ session.Entry, raw []byte) string {
	row := form.Said(raw)
	if id := rawjson.Str(row, "message_id"); id != "" {
		return id + " " + string(rawjson.Get(row, "created_timestamp"))
	}
	return ""
}

// Spent gives the usage of an answer. The summary of a compaction is a message of the user there, and has its usage, too. The cost is a
// sum of the session.
func (d *entries) Spent(e session.Entry, raw []byte, take func(session.Spending)) {
	metadata := rawjson.Get(form.Said(raw), "metadata_json")
	if u, ok := usageOf(metadata); ok {
		s := session.Spending{Of: string(e.ID), Usage: u}
		s.Provider, s.Model = modelOf(metadata)
		take(s)
		if cost := dialect.Number(rawjson.Get(form.Row(headerOfTree(e)), "accumulated_cost")); cost > 0 {
			take(session.Spending{Of: "session", Total: true, Provider: s.Provider, Model: s.Model, Usage: session.NewUsage([5]float64{}, [5]float64{4: cost})})
		}
	}
}

// headerOfTree returns the record of the session that an entry is in.
func headerOfTree(e session.Entry) []byte {
	if e.Tree() == nil {
		return nil
	}
	return e.Tree().Header().Raw
}
