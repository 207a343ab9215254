package goose

import (
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ session.Spender = (*Dialect)(nil)

// Spent gives what an answer used. The summary of a compaction is a message of the user there, and has what it used, too.
func (d *Dialect) Spent(e session.Entry, raw []byte, take func(session.Spending)) {
	metadata := rawjson.Get(rowOf(raw), "metadata_json")
	if u, ok := usageOf(metadata); ok {
		s := session.Spending{Of: string(e.ID), Usage: u}
		s.Provider, s.Model = modelOf(metadata)
		take(s)
	}
}
