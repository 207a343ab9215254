package place

import (
	"context"
	"strings"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
)

// ArchivedPath returns the path of a log in the archive among the roots, by its name in the archive; "" if there is no archive.
func (m *Machine) ArchivedPath(name string) string {
	if len(m.archives) == 0 {
		return ""
	}
	return m.archives[0].shown + "/" + name
}

// ProjectAt returns the working directory of the session at a path, as a list would show it, from the ends of its log; "" if the log names
// none. content, if not nil, is the beginning of what is about to be written to the log, and is read instead. A log that is not a session
// but lies in the folder of one belongs to that session.
func (m *Machine) ProjectAt(ctx context.Context, at string, content []byte) (string, error) {
	l, err := m.Locate(at)
	if err != nil {
		return "", err
	}
	if d := m.DialectAt(at); !d.Layout().Owns(l.Name) {
		owner := dialect.Owner(d.Layout(), l.Name)
		if owner == "" {
			return "", nil
		}
		at, l.Name, content = strings.TrimSuffix(l.Path, l.Name)+owner, owner, nil
	}
	if content != nil {
		d, _ := m.NewPeeker().detect(at, content, true)
		return d.Peek(content, nil, true).CWD, nil
	}
	row := Row{Path: at}
	if row.Log, err = l.Backend.Stat(ctx, l.Name); err != nil {
		return "", err
	}
	m.NewPeeker().Peek(ctx, l.Backend, &row, ListOptions{})
	return row.CWD, nil // a log that is no session has none
}

// OpenAs is OpenWriting for a writer, which an archive records with each write; see backend.OpenOptions. Other places ignore it.
func (m *Machine) OpenAs(writer backend.Writer, root string, d backend.Durability) (backend.Backend, error) {
	if _, _, ok := m.inArchive(Clean(root)); !ok {
		writer = backend.Writer{}
	}
	return m.openWriting(root, backend.OpenOptions{Durability: d, Writer: writer})
}
