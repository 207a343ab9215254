package logtree

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// Title is the name of a session in a list, "" if it has none. Entries and header may both have a name. The agent's own way of
// naming comes first; the other is the fallback, since another program may have named the session.
func Title(d dialect.Dialect, t *session.Tree) (string, error) {
	if title := t.Header().Title; title != "" && !RenamesByEntry(d) {
		return title, nil
	}
	name, named, err := lastName(d, t)
	if named || err != nil {
		return name, err
	}
	return t.Header().Title, nil
}

// Name is the name of a session in the agent's own program, "" if it has none there: the last name among the entries, or the
// title in the header, depending on the agent.
func Name(d dialect.Dialect, t *session.Tree) (string, error) {
	if !RenamesByEntry(d) {
		return t.Header().Title, nil
	}
	name, _, err := lastName(d, t)
	return name, err
}

// lastName returns the last name among the entries; named is false if there is none. Some agents look only at the path.
func lastName(d dialect.Dialect, t *session.Tree) (name string, named bool, err error) {
	at, n := t.At, t.Len()
	if w, ok := d.(dialect.Writer); ok && w.Habits().NamesOnPath {
		path, err := t.Path(t.LeafID())
		if err != nil {
			return "", false, err
		}
		at, n = path.At, path.Len()
	}
	for i := n - 1; i >= 0; i-- {
		e := at(i)
		if e.Kind != session.KindSessionInfo {
			continue
		}
		body, err := e.Body()
		if info, ok := body.(session.SessionInfo); ok || err != nil {
			return info.Name, true, err
		}
	}
	return "", false, nil
}

// RenamesByEntry reports whether an entry names the session even if its header has a title.
func RenamesByEntry(d dialect.Dialect) bool {
	w, ok := d.(dialect.Writer)
	return ok && w.Habits().RenameByEntry
}
