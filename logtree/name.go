package logtree

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// Title is what a list calls a session, "" if it has no name. Entries and header may both have one; the agent's own way of
// naming comes first, and the other counts too, since another program may have named the session.
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

// Name is what the agent's own program calls a session, "" if to the program it has no name: the last name among the
// entries, or the title in the header, and nothing else.
func Name(d dialect.Dialect, t *session.Tree) (string, error) {
	if !RenamesByEntry(d) {
		return t.Header().Title, nil
	}
	name, _, err := lastName(d, t)
	return name, err
}

// lastName gives the last name that an entry gives; named is false if none does. Some agents look at the path only.
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
