// Package breadcrumb reads and writes breadcrumbs. A breadcrumb is a small file, named after a terminal, of two lines: the working
// directory and the session's file. The agent writes it so that each terminal continues its own session.
package breadcrumb

import (
	"context"
	"errors"
	"strings"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/place"
)

// errOther is the error for a breadcrumb that is damaged or of another working directory.
var errOther = errors.New("not a breadcrumb of this directory")

// Write notes in the folder of a backend that a terminal uses the session with this working directory and path.
func Write(ctx context.Context, folder backend.Backend, terminal, cwd, path string) error {
	content := []byte(cwd + "\n" + path + "\n")
	at, err := folder.Stat(ctx, terminal)
	switch {
	case err == nil:
		_, err = folder.Replace(ctx, at, content)
	case errors.Is(err, backend.ErrNotExist):
		_, err = folder.Create(ctx, terminal, content)
	}
	return err
}

// Find returns the log that a terminal used last, if that was in this working directory and the log still exists. A breadcrumb is a hint:
// one that cannot be read, or is damaged, is ignored.
func Find(ctx context.Context, m *place.Machine, d dialect.Dialect, terminal, cwd string) (path string, ok bool) {
	for _, r := range d.Layout().Roots(m.Env()) {
		if r.Breadcrumbs == "" || terminal == "" {
			continue
		}
		if path, err := read(ctx, m, r.Breadcrumbs, terminal, cwd); err == nil {
			return path, true
		}
	}
	return "", false
}

func read(ctx context.Context, m *place.Machine, dir, name, cwd string) (path string, err error) {
	b, err := m.Open(dir)
	if err != nil {
		return "", err
	}
	at, err := b.Stat(ctx, name)
	if err != nil {
		return "", err
	}
	content, err := backend.ReadAll(ctx, b, at)
	if err != nil {
		return "", err
	}
	lines := strings.Split(string(content), "\n")
	if len(lines) < 2 || !m.SameDir(lines[0], cwd) {
		return "", errOther
	}
	l, err := m.Locate(lines[1])
	if err == nil {
		_, err = l.Backend.Stat(ctx, l.Name)
	}
	return lines[1], err
}
