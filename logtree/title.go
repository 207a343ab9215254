package logtree

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// Title is what a session is called, "" if it has no name. The last word counts: an entry or the header, whichever is the
// agent's habit.
func Title(d dialect.Dialect, t *session.Tree) (string, error) {
	if title := t.Header().Title; title != "" && !RenamesByEntry(d) {
		return title, nil
	}
	for i := t.Len() - 1; i >= 0; i-- {
		e := t.At(i)
		if e.Kind != session.KindSessionInfo {
			continue
		}
		body, err := e.Body()
		if info, ok := body.(session.SessionInfo); ok || err != nil {
			return info.Name, err
		}
	}
	return t.Header().Title, nil
}

// RenamesByEntry reports whether an entry names the session even if its header has a title.
func RenamesByEntry(d dialect.Dialect) bool {
	w, ok := d.(dialect.Writer)
	return ok && w.Habits().RenameByEntry
}
