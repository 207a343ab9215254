package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
)

// A breadcrumb is a small file, named after a terminal, of two lines: the working directory and the session's file. The
// agent writes it so that each terminal goes on with its own session.

// breadcrumb notes that this terminal uses the session. It is a convenience: that it cannot be written is no reason to
// fail. It is written when the log is there, and not before: it must not lead nowhere.
func (s *Session) breadcrumb(ctx context.Context) {
	env := s.store.opt.Env
	if s.path == "" || env.Terminal == "" || !s.w.created {
		return
	}
	// The crumbs are those of the agent's folder that the session lies in; one that lies in none leaves none.
	dir := s.store.crumbDir(s.dialect, s.path)
	if dir == "" {
		return
	}
	abs, err := filepath.Abs(s.path)
	if err != nil {
		return
	}
	b, err := s.store.opt.WriteDir(dir, DurabilityNone, nil)
	if err != nil {
		return
	}
	defer b.Close()
	content := []byte(s.tree.Header().CWD + "\n" + abs + "\n")
	// Replaced whatever stands there: the last one who uses the terminal counts, and a conflict means that somebody else
	// just did.
	if at, err := b.Stat(ctx, env.Terminal); err == nil {
		_, err = b.Replace(ctx, at, content)
		s.noteCrumb(err)
	} else if errors.Is(err, backend.ErrNotExist) {
		_, err = b.Create(ctx, env.Terminal, content)
		s.noteCrumb(err)
	}
}

// noteCrumb says for those who look for the reason that there is no breadcrumb.
func (s *Session) noteCrumb(err error) {
	if err != nil {
		s.w.opt.Log.Debug("breadcrumb not written", "file", s.path, "error", err)
	}
}

// crumbDir is the folder of the breadcrumbs of the agent whose folder the session lies in; "" where it lies elsewhere.
func (s *Store) crumbDir(d dialect.Dialect, path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	for _, r := range d.Layout().Roots(s.opt.Env) {
		if rel, err := filepath.Rel(r.Sessions, abs); err == nil && filepath.IsLocal(rel) {
			return r.Breadcrumbs
		}
	}
	return ""
}

// followBreadcrumb opens the session that this terminal used last in a working directory; nil where there is none, or it
// cannot be opened, or is of another directory by now.
func (s *Store) followBreadcrumb(ctx context.Context, d dialect.Dialect, opt CreateOptions) *Session {
	path, ok := s.breadcrumbOf(ctx, d, opt.CWD)
	if !ok {
		return nil
	}
	// Looked at before it is opened for writing, which leaves a new breadcrumb.
	look, err := s.Open(ctx, path, OpenOptions{Dialect: d})
	if err != nil {
		return nil
	}
	cwd := look.Header().CWD
	look.Close()
	if cwd != "" && s.canonical(cwd) != s.canonical(opt.CWD) {
		return nil
	}
	sess, err := s.OpenWrite(ctx, path, opt)
	if err != nil {
		return nil
	}
	return sess
}

// breadcrumbOf gives the file that this terminal used last, if it was for this working directory and is still there. Both
// directories are compared with their links resolved: a shell names them as it came there.
func (s *Store) breadcrumbOf(ctx context.Context, d dialect.Dialect, cwd string) (string, bool) {
	// The most specific folder first: an override by the environment before the default.
	for _, r := range d.Layout().Roots(s.opt.Env) {
		if r.Breadcrumbs == "" || s.opt.Env.Terminal == "" {
			continue
		}
		b, err := s.opt.OpenDir(r.Breadcrumbs)
		if err != nil {
			continue
		}
		path, ok := readCrumb(ctx, b, s.opt.Env.Terminal, func(dir string) bool { return s.canonical(dir) == s.canonical(cwd) })
		b.Close()
		if ok {
			return path, true
		}
	}
	return "", false
}

// readCrumb reads a breadcrumb whose first line fits. Whatever is wrong with it, there is none: it is only a hint.
func readCrumb(ctx context.Context, b backend.Backend, name string, fits func(string) bool) (string, bool) {
	at, err := b.Stat(ctx, name)
	if err != nil {
		return "", false
	}
	for r, err := range b.Read(ctx, at, 0) {
		if err != nil {
			return "", false
		}
		lines := strings.Split(string(r.Data), "\n")
		if len(lines) < 2 || !fits(lines[0]) {
			return "", false
		}
		info, err := os.Stat(lines[1])
		return lines[1], err == nil && info.Mode().IsRegular()
	}
	return "", false
}
