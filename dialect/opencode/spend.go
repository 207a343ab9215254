package opencode

import (
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ session.Spender = (*reader)(nil)

// Spent gives the usage of an answer, including that of a summary, which is not a message here.
func (d *entries) Spent(e session.Entry, raw []byte, take func(session.Spending)) {
	if e.Role != session.RoleAssistant {
		return
	}
	info := rawjson.Get(rawjson.Get(raw, "message"), "data")
	u := usage(info)
	take(session.Spending{Of: string(e.ID), Provider: rawjson.Str(info, "providerID"), Model: rawjson.Str(info, "modelID"), Usage: u})
}
