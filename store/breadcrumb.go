package store

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/place"
)

// A breadcrumb is a small file, named after a terminal, of two lines: the working directory and the session's file. The
// agent writes it so that each terminal goes on with its own session.

// breadcrumb notes that this terminal uses the session, once its log exists. It is best effort: a breadcrumb that cannot
// be written fails nothing.
func (s *Session) breadcrumb(ctx context.Context) {
	terminal := s.store.terminal(s.w.opt)
	if s.at.Path == "" || terminal == "" || !s.w.created {
		return
	}
	// A session outside of the agent's folders leaves none.
	root, ok := s.store.RootOf(s.dialect, s.at.Path)
	abs, err := place.Abs(s.at.Path)
	if !ok || root.Breadcrumbs == "" || err != nil {
		return
	}
	b, err := s.store.OpenWriting(root.Breadcrumbs, DurabilityNone)
	if err != nil {
		return
	}
	content := []byte(s.tree.Header().CWD + "\n" + abs + "\n")
	at, err := b.Stat(ctx, terminal)
	switch {
	case err == nil:
		_, err = b.Replace(ctx, at, content)
	case errors.Is(err, backend.ErrNotExist):
		_, err = b.Create(ctx, terminal, content)
	}
	if err != nil {
		s.w.opt.Log.Debug("breadcrumb not written", "file", s.at.Path, "error", err)
	}
}

// terminal names the terminal that a session is written from; "" for none.
func (s *Store) terminal(opt WriteOptions) string {
	return cmp.Or(place.TerminalName(opt.Terminal), s.Env().Terminal)
}

// followBreadcrumb opens the session that this terminal used last in a working directory. It gives nil if there is none,
// if it cannot be opened, or if it belongs to another directory by now.
func (s *Store) followBreadcrumb(ctx context.Context, d dialect.Dialect, opt CreateOptions) *Session {
	path, ok := s.breadcrumbOf(ctx, d, s.terminal(opt.Write), opt.CWD)
	if !ok {
		return nil
	}
	// Opening it for writing would leave a new breadcrumb, so it is read first.
	look, err := s.Open(ctx, path, OpenOptions{Dialect: d})
	if err != nil {
		return nil
	}
	cwd := look.Header().CWD
	_ = look.Close()
	if cwd != "" && !s.SameDir(cwd, opt.CWD) {
		return nil
	}
	sess, err := s.OpenWrite(ctx, path, opt)
	if err != nil {
		return nil
	}
	return sess
}

// breadcrumbOf gives the log that this terminal used last, if it was for this working directory and still exists.
func (s *Store) breadcrumbOf(ctx context.Context, d dialect.Dialect, terminal, cwd string) (string, bool) {
	for _, r := range d.Layout().Roots(s.Env()) {
		if r.Breadcrumbs == "" || terminal == "" {
			continue
		}
		if path, err := s.readCrumb(ctx, r.Breadcrumbs, terminal, cwd); err == nil {
			return path, true
		}
	}
	return "", false
}

// readCrumb reads a breadcrumb of a working directory. A breadcrumb is a hint: one that is damaged does not count.
func (s *Store) readCrumb(ctx context.Context, dir, name, cwd string) (string, error) {
	b, err := s.Machine.Open(dir)
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
	if len(lines) < 2 || !s.SameDir(lines[0], cwd) {
		return "", ErrNotSession
	}
	l, err := s.Locate(lines[1])
	if err == nil {
		_, err = l.Backend.Stat(ctx, l.Name)
	}
	return lines[1], err
}
