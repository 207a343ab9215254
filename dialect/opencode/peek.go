package opencode

import (
	"bytes"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Peek makes a list row from the row of the session, and from the messages where all of them are at hand. A list has the row
// alone: to read messages it would have to load whole sessions.
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
	s := dialect.Summary{Messages: -1}
	for line := range bytes.SplitAfterSeq(dialect.TrimBOM(head), []byte{'\n'}) {
		line = bytes.Trim(bytes.TrimSpace(line), "\x00")
		end, err := rawjson.Skip(line, 0)
		if err != nil || !rawjson.IsObject(line) {
			continue
		}
		if line = line[:end]; rowOf(line) == nil {
			return s
		}
		h := headerOf(line)
		s.OK, s.ID, s.CWD, s.Parent, s.Task, s.Version, s.Title, s.Created = true, h.ID, h.CWD, h.Parent, h.Task, h.Version, h.Title, h.Timestamp
		return s
	}
	return s
}
