package opencode

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// Peek makes a list row from the row of the session, and from the messages if all of them are at hand. A list only has the row,
// because reading messages would mean loading whole sessions.
func (d *Format) Peek(head, _ []byte, whole bool) dialect.Summary {
	if whole {
		return dialect.ReadWhole(d, head, func(s *dialect.Summary, e session.Entry, record []byte) {
			if s.Prompt != "" || e.Role != session.RoleUser || isMeta(record) {
				return
			}
			if parts, err := new(entries).Parts(e, record); err == nil {
				s.Prompt = dialect.TextOf(parts)
			}
		})
	}
	return form.Peek(head)
}
