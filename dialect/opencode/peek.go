package opencode

import (
	"bytes"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Peek makes a list row from the row of the session alone: it has a title and times, and a list that reads messages would
// read all of them.
func (d *Dialect) Peek(head, _ []byte, _ bool) dialect.Summary {
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
		s.Active = session.Time{Text: string(rawjson.Get(rowOf(line), "time_updated"))}
		return s
	}
	return s
}
