package store

import (
	"cmp"
	"context"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/store/breadcrumb"
)

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
	if err := breadcrumb.Write(ctx, b, terminal, s.tree.Header().CWD, abs); err != nil {
		s.w.opt.Log.Debug("breadcrumb not written", "file", s.at.Path, "error", err)
	}
}

// terminal names the terminal that a session is written from; "" for none.
func (s *Store) terminal(opt WriteOptions) string {
	return cmp.Or(place.TerminalName(opt.Terminal), s.Env().Terminal)
}

// followBreadcrumb opens the session that this terminal used last in a working directory. It returns nil if there is none, if it cannot be
// opened, or if it now belongs to another directory.
func (s *Store) followBreadcrumb(ctx context.Context, d dialect.Dialect, opt CreateOptions) *Session {
	path, ok := breadcrumb.Find(ctx, s.Machine, d, s.terminal(opt.Write), opt.CWD)
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
