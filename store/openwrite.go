package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// OpenWrite opens the session in a file for reading and appending. A log of an old version is migrated now, the original
// kept beside it as "<name>.v<N>.bak". A log of a newer version is refused, and so is a file that cannot be read: it
// stays as it is, unless opt.ReplaceUnreadable says otherwise; then its bytes are kept as "<name>.unreadable-<time>".
//
// Where there is no file, or an empty one, a session begins there if opt.Create is set. opt.Dir is the folder for what
// the session turns into later (NewSession, Fork, BranchedSession); "" is the file's own.
func (s *Store) OpenWrite(ctx context.Context, path string, opt CreateOptions) (*Session, error) {
	opt.Write.fill()
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	b, err := s.writeDir(filepath.Dir(abs), path, opt.Write)
	if err != nil {
		return nil, err
	}
	sess, err := s.openWrite(ctx, b, filepath.Base(abs), path, opt)
	for try := 0; try < rewritten && errors.Is(err, backend.ErrChanged); try++ {
		sess, err = s.openWrite(ctx, b, filepath.Base(abs), path, opt)
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	sess.dir = opt.Dir
	return sess, nil
}

// openWrite is OpenWrite once. With Create an empty file counts as none: it has nothing to lose.
func (s *Store) openWrite(ctx context.Context, b backend.Backend, name, path string, opt CreateOptions) (*Session, error) {
	at, err := b.Stat(ctx, name)
	switch {
	case errors.Is(err, backend.ErrNotExist) && opt.Write.Create:
		return s.beginAt(ctx, b, nil, name, path, opt)
	case err != nil:
		return nil, named(path, err)
	case at.Size == 0 && opt.Write.Create:
		return s.beginAt(ctx, b, &at, name, path, opt)
	}
	sess, l, err := s.openLog(ctx, b, name, path, OpenOptions{Dialect: opt.Dialect})
	if err == nil && l.tree.Header().Raw == nil && !headerless(sess.dialect) {
		// An entry behind nothing would make a file that nobody reads.
		err = errors.Join(named(path, fmt.Errorf("%w: it is empty", ErrNotSession)), sess.source.Close())
	}
	if errors.Is(err, ErrNotSession) && opt.Write.ReplaceUnreadable {
		// Nothing is replaced before its copy is on disk.
		if err := setAside(ctx, b, at, "unreadable-"+stamp(opt.Write.Clock())); err != nil {
			return nil, named(path, err)
		}
		return s.beginAt(ctx, b, &at, name, path, opt)
	}
	if err != nil {
		return nil, err
	}
	if err := sess.startWriting(ctx, b, name, l, opt.Write); err != nil {
		return nil, errors.Join(err, sess.source.Close())
	}
	return sess, nil
}

// startWriting makes a session that was opened for reading writable. A version that is newer than ours is refused here,
// before anything is written.
func (s *Session) startWriting(ctx context.Context, b backend.Backend, name string, l loaded, opt WriteOptions) error {
	d, err := s.store.writer(s.dialect)
	if err != nil {
		return err
	}
	if h := s.tree.Header(); h.Newer {
		return named(s.path, newer(h))
	}
	if opt.Defer == "" {
		opt.Defer = d.Habits().Defer // for sessions that this one becomes
	}
	s.w = s.newWriting(d, b, name, opt)
	s.w.created = true
	s.take(l)
	s.setBlobs()
	s.note(ctx)
	if err := s.migrate(ctx); err != nil {
		return named(s.path, err)
	}
	// Only now: after an error the backend is still the caller's to close.
	s.closers = []io.Closer{b}
	s.tellProblems(nil)
	s.breadcrumb(ctx)
	return nil
}

func newer(h session.Header) error {
	return fmt.Errorf("version %d is %w of the agent; it is read only", h.Version, ErrNewer)
}

// take goes on from what was read. The tip is for the caller to set, who knows what is proposed.
func (s *Session) take(l loaded) {
	w := s.w
	s.tree = l.tree
	w.builder, w.dec, w.lines, w.loose = l.builder, l.dec, l.lines, l.loose
	// The decoder goes on where it stopped: in linear formats what comes next depends on it.
	w.adder, _ = l.dec.(dialect.Adder)
	s.readEnds()
	if !w.busy {
		w.tip = s.tree.LeafID()
	}
}

// reload reads the log anew. The leaf is the log's own. Trees and contexts from before go on to read the old one. Nothing
// of the session changes where that fails.
func (s *Session) reload(ctx context.Context, at backend.Log) error {
	src := &logSource{b: s.w.b, at: at}
	l, err := load(ctx, s.w.b, at, s.dialect, s.path, src, s.tree.Header())
	if err == nil {
		err = s.same(l.tree.Header())
	}
	if err != nil {
		return errors.Join(err, src.Close())
	}
	// Not closed: whoever has a tree of before reads on.
	s.source.retire()
	s.log, s.source = at, src
	s.take(l)
	return nil
}

// same says why a log that took the place of ours cannot be gone on with. The id decides: a log of another session under
// the same name is never written to.
func (s *Session) same(h session.Header) error {
	old := s.tree.Header()
	switch {
	case h.Raw == nil && old.Raw != nil:
		return fmt.Errorf("%w any more: the log was emptied", ErrNotSession)
	case h.ID != old.ID:
		return fmt.Errorf("%w: session %s is in its place", backend.ErrConflict, h.ID)
	case h.Newer:
		return newer(h)
	// An older program wrote it anew: records of today in it would mix the two forms.
	case s.needsMigration(h) && !s.needsMigration(old):
		return fmt.Errorf("%w: it is of version %d now; open it again", backend.ErrConflict, h.Version)
	}
	return nil
}

// beginAt begins a session in a given log; at is what is there now, if anything.
func (s *Store) beginAt(ctx context.Context, b backend.Backend, at *backend.Log, name, path string, opt CreateOptions) (*Session, error) {
	d, err := s.writer(Sessions(opt.Dialect))
	if opt.Dialect == nil {
		abs, absErr := filepath.Abs(path)
		if absErr != nil {
			return nil, absErr
		}
		d, err = s.writer(Sessions(s.dialectOf(abs)))
	}
	if err != nil {
		return nil, err
	}
	n, err := s.newSession(d, opt)
	if err != nil {
		return nil, err
	}
	w := opt.Write
	if at != nil {
		// There is a file already: its place is taken at once.
		header, err := d.Header(n)
		if err != nil {
			return nil, err
		}
		// Compared with what we saw: a file that got content meanwhile is not replaced.
		if _, err := b.Replace(ctx, *at, some(header)...); err != nil && !errors.Is(err, backend.ErrConflict) {
			return nil, named(path, err)
		}
		// Who was faster has begun a session there, and it is that one.
		w.Create, w.ReplaceUnreadable = false, false
		sess, err := s.openWrite(ctx, b, name, path, CreateOptions{Dialect: opt.Dialect, Write: w})
		if err != nil {
			return nil, err
		}
		return sess.entitle(ctx, n)
	}
	if w.Defer == "" && d.Habits().AskedAtOnce {
		w.Defer = dialect.DeferNever
	}
	sess, err := s.beginIn(ctx, b, name, path, d, n, w)
	if err != nil {
		return nil, err
	}
	sess.w.opt.Defer = cmp.Or(opt.Write.Defer, d.Habits().Defer) // for sessions that this one becomes
	return sess.entitle(ctx, n)
}

// ContinueRecent opens the session that this terminal used last in a working directory, otherwise the newest there,
// and begins one where there is none. The header's cwd decides which sessions are of that directory.
func (s *Store) ContinueRecent(ctx context.Context, opt CreateOptions) (*Session, error) {
	opt.CWD = s.absolute(opt.CWD)
	d, err := s.writer(Sessions(opt.Dialect))
	if err != nil {
		return nil, err
	}
	opt.Dialect = d.Dialect
	if opt.Dir == "" {
		// Not where a folder was named: the terminal's last session may lie elsewhere.
		if sess := s.followBreadcrumb(ctx, d.Dialect, opt); sess != nil {
			return sess, nil
		}
	}
	row, ok, err := s.recent(ctx, d.Dialect, opt.Dir, opt.CWD)
	if err != nil {
		return nil, err
	}
	if ok {
		opt.Dialect = row.Dialect
		return s.OpenWrite(ctx, row.Path, opt)
	}
	return s.Create(ctx, opt)
}
