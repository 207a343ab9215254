package opencode

import (
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ session.Spender = (*reader)(nil)

// Spent gives what an answer used, also that of a summary, which is no message here.
func (d *entries) Spent(e session.Entry, raw []byte, take func(session.Spending)) {
	if e.Role != session.RoleAssistant {
		return
	}
	info := rawjson.Get(rawjson.Get(raw, "message"), "data")
	u := usage(info)
	take(session.Spending{Of: string(e.ID), Provider: rawjson.Str(info, "providerID"), Model: rawjson.Str(info, "modelID"), Usage: u})
}
