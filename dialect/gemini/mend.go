package gemini

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Mender = (*reader)(nil)

// Mends restores a conversation that the program removed from the log and did not write again: when the program resumes a session in the
// minute in which it began, it clears the log first, and may be killed before it writes the messages again.
func (d *reader) Mends(t *session.Tree) []dialect.Mend {
	last := lastMover(t)
	if last < 0 || t.At(last).Type != typeSet {
		return nil
	}
	record := func(e session.Entry) ([]byte, error) { return e.Raw() }
	now, err := d.upTo(t, last, record)
	if err != nil || len(turns(now)) > 0 {
		return nil
	}
	before, err := d.upTo(t, last-1, record)
	if err != nil || len(turns(before)) == 0 {
		return nil
	}
	var list [][]byte
	for _, m := range before {
		list = append(list, rawjson.Compact(m.json))
	}
	var w dialect.Object
	w.Add("messages", dialect.Array(list))
	return []dialect.Mend{{
		Entry: last, Kind: session.ProblemUnseen, Problem: "all messages were taken out of the conversation, as when Gemini CLI is killed while it resumes a session",
		Action: "they are put back", Append: [][]byte{rawjson.EscapeBreaks(set(w.End()))},
	}}
}
