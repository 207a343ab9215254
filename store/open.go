package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

// ErrNotSession is wrapped by the error for a log that no dialect can read.
var ErrNotSession = logtree.ErrNotSession

// OpenOptions change how a session is opened.
type OpenOptions struct {
	// Dialect reads the log whatever its content; nil detects it.
	Dialect dialect.Dialect
}

// Open opens the session at a path for reading. Nothing is written, not even a time.
//
// Damage does not fail it: what could be read is there, and Tree().Problems says what could not. It fails with a
// *session.Problem, wrapped together with ErrNotSession, if the log has no readable header.
func (s *Store) Open(ctx context.Context, path string, opt OpenOptions) (*Session, error) {
	at, err := s.Locate(path)
	if err != nil {
		return nil, err
	}
	return s.OpenAt(ctx, at, opt)
}

// OpenAt is Open for a log of any backend.
func (s *Store) OpenAt(ctx context.Context, at place.Location, opt OpenOptions) (*Session, error) {
	l, err := s.OpenLog(ctx, at, opt.Dialect)
	if err != nil {
		return nil, err
	}
	return s.sessionOf(l, at), nil
}

// sessionOf makes a session of a log that was read.
func (s *Store) sessionOf(l *logtree.Log, at place.Location) *Session {
	return &Session{
		store: s, at: at, read: l, log: l.At, dialect: l.Dialect, tree: l.Tree, source: l.Source, blobs: s.Blobs(at.Path, l.Dialect),
	}
}

// OpenWrite opens the session at a path for reading and appending. A log of an old version is migrated now; the original
// is kept beside it as "<name>.v<N>.bak". A log of a newer version is refused, and so is a file that cannot be read: it
// stays as it is, unless opt.Write.ReplaceUnreadable is set; then its bytes are kept as "<name>.unreadable-<time>".
//
// If there is no file, or an empty one, a session begins there if opt.Write.Create is set. opt.Dir is the folder for what
// the session turns into later (NewSession, Fork, BranchedSession); "" is the file's own.
func (s *Store) OpenWrite(ctx context.Context, path string, opt CreateOptions) (*Session, error) {
	if err := opt.Write.complete(); err != nil {
		return nil, err
	}
	h, err := s.homeAt(path, opt.Write)
	if err != nil {
		return nil, err
	}
	if backend.Compressed(h.Backend, h.Name) {
		if h, err = s.expand(ctx, h, opt); err != nil {
			return nil, err
		}
	}
	sess, err := s.openWrite(ctx, h, opt)
	for try := 0; try < logtree.Retries && errors.Is(err, backend.ErrChanged); try++ {
		sess, err = s.openWrite(ctx, h, opt)
	}
	if err != nil {
		return nil, cmp.Or(err, h.release())
	}
	sess.dir = opt.Dir
	return sess, nil
}

// expand makes a compressed log one that can be written. A log that is refused stays as it is.
func (s *Store) expand(ctx context.Context, h home, opt CreateOptions) (home, error) {
	_, l, err := s.openHome(ctx, h, opt)
	if err == nil {
		if _, err = s.writer(l.Dialect); err == nil && l.Tree.Header().Newer {
			err = logtree.Named(h.Path, newer(l.Tree.Header()))
		}
		err = errors.Join(err, l.Close())
	}
	plain := h.Location
	if err == nil {
		plain, err = plain.Expand(ctx)
	}
	if err = errors.Join(err, h.release()); err != nil {
		return h, err
	}
	return s.homeAt(plain.Path, opt.Write)
}

// openWrite is OpenWrite once. With Create an empty file counts as missing: it has nothing to lose.
func (s *Store) openWrite(ctx context.Context, h home, opt CreateOptions) (*Session, error) {
	if opt.Write.Create || opt.Write.ReplaceUnreadable {
		if sess, err := s.openOrBegin(ctx, h, opt); sess != nil || err != nil {
			return sess, err
		}
	}
	sess, l, err := s.openHome(ctx, h, opt)
	if err != nil {
		return nil, err
	}
	if err := sess.startWriting(ctx, l.Loaded, opt.Write); err != nil {
		return nil, errors.Join(err, sess.source.Close())
	}
	return sess, nil
}

// openHome reads the log of a session that is to be written.
func (s *Store) openHome(ctx context.Context, h home, opt CreateOptions) (*Session, *logtree.Log, error) {
	l, err := s.OpenLog(ctx, h.Location, opt.Dialect)
	if err != nil {
		return nil, nil, err
	}
	if w, ok := l.Dialect.(dialect.Writer); l.Tree.Header().Raw == nil && !(ok && w.Habits().Headerless) {
		// An entry without a header before it would make a log that no program reads.
		return nil, nil, errors.Join(logtree.Named(h.Path, fmt.Errorf("%w: it is empty", ErrNotSession)), l.Close())
	}
	sess := s.sessionOf(l, h.Location)
	sess.release = h.release
	return sess, l, nil
}

// openOrBegin begins a session if there is no log, an empty one, or one that may be replaced. It returns nil if the log is a
// session, to be opened.
func (s *Store) openOrBegin(ctx context.Context, h home, opt CreateOptions) (*Session, error) {
	at, err := h.Backend.Stat(ctx, h.Name)
	switch {
	case errors.Is(err, backend.ErrNotExist) && opt.Write.Create:
		return s.beginAt(ctx, nil, h, opt)
	case err != nil:
		return nil, logtree.Named(h.Path, err)
	case at.Size == 0 && opt.Write.Create:
		return s.beginAt(ctx, &at, h, opt)
	case !opt.Write.ReplaceUnreadable:
		return nil, nil
	}
	_, l, err := s.openHome(ctx, h, opt)
	if err == nil {
		return nil, l.Close()
	}
	if !errors.Is(err, ErrNotSession) {
		return nil, err
	}
	// Nothing is replaced before its copy is on disk.
	if err := setAside(ctx, h.Backend, at, "unreadable-"+stamp(opt.Write.Clock())); err != nil {
		return nil, logtree.Named(h.Path, err)
	}
	return s.beginAt(ctx, &at, h, opt)
}

// startWriting makes a session that was opened for reading writable. A newer version is refused before anything is written.
func (s *Session) startWriting(ctx context.Context, l logtree.Loaded, opt WriteOptions) error {
	d, err := s.store.writer(s.dialect)
	if err != nil {
		return err
	}
	if h := s.tree.Header(); h.Newer {
		return s.named(newer(h))
	}
	if l.Long != nil { // what was not read would be missing after a rewrite
		return s.named(l.Long)
	}
	opt.Defer = cmp.Or(opt.Defer, d.Habits().Defer) // for sessions that this one becomes
	s.goOn(d, l, opt)
	s.note(ctx)
	if err := s.migrate(ctx); err != nil {
		return s.named(err)
	}
	s.tellProblems(nil)
	s.breadcrumb(ctx)
	return nil
}

func newer(h session.Header) error {
	return fmt.Errorf("version %d is %w of the agent; it is read only", h.Version, ErrNewer)
}

// goOn makes a session writable; l is its log, which was just read.
func (s *Session) goOn(d dialect.WritingDialect, l logtree.Loaded, opt WriteOptions) {
	s.w = s.newWriting(d, opt)
	s.take(l)
	s.findBlobs()
}

// take makes what was read the state of the session: the tree, and the end that the next append continues from.
func (s *Session) take(l logtree.Loaded) {
	w := s.w
	s.tree = l.Tree
	w.builder, w.dec, w.loose, w.created = l.Builder, l.Decoder, l.Loose, true
	s.showWhole()
	s.follow(l.Lines, l.Torn)
	if !w.busy {
		w.tip = s.tree.LeafID()
	}
}

// reload reads the log again. The leaf is the log's own. Trees and contexts from before keep reading the old log. If reload fails, the
// session stays as it is.
func (s *Session) reload(ctx context.Context, at backend.Log) error {
	src, err := logtree.OpenSource(ctx, s.at.Backend, at)
	if err != nil {
		return err
	}
	l, err := s.store.Reader().Load(ctx, s.at.Backend, at, s.dialect, s.at.Path, src, s.tree.Header())
	if err == nil && l.Long != nil {
		err = l.Long
	}
	if err == nil {
		err = s.same(l.Tree.Header())
	}
	if err != nil {
		return errors.Join(err, src.Close())
	}
	s.source.Retire()
	s.log, s.source = at, src
	s.take(l)
	return nil
}

// same returns why the log that replaced ours cannot be written, nil if it can. The id decides: a log of another session under the same
// name is never written to.
func (s *Session) same(h session.Header) error {
	old := s.tree.Header()
	switch {
	case h.Raw == nil && old.Raw != nil:
		return fmt.Errorf("%w any more: the log was emptied", ErrNotSession)
	case h.ID != old.ID:
		return fmt.Errorf("%w: session %s is in its place", backend.ErrConflict, h.ID)
	case h.Newer:
		return newer(h)
	// An older program rewrote it: records of today would mix two versions.
	case s.needsMigration(h) && !s.needsMigration(old):
		return fmt.Errorf("%w: it is of version %d now; open it again", backend.ErrConflict, h.Version)
	}
	return nil
}

// beginAt begins a session in a given log; at is the log that is there now, if any.
func (s *Store) beginAt(ctx context.Context, at *backend.Log, h home, opt CreateOptions) (*Session, error) {
	kind := opt.Dialect
	if kind == nil {
		kind = s.DialectAt(h.Path)
	}
	d, err := s.writer(place.Sessions(kind))
	if err == nil {
		err = s.checkCWD(opt.CWD, opt.Write)
	}
	if err != nil {
		return nil, err
	}
	n, err := s.newSession(d, opt)
	if err == nil {
		err = s.checkTitle(d.Dialect, n, h.Path)
	}
	if err != nil {
		return nil, err
	}
	w := opt.Write
	if at != nil {
		opening, err := dialect.Opening(d, n)
		if err != nil {
			return nil, err
		}
		// A conflict means that another process was faster: the session is the one that it began.
		_, late, err := backend.Replace(ctx, h.Backend, *at, backend.RewriteOptions{Force: w.ForceRewrite}, opening...)
		if err != nil && !errors.Is(err, backend.ErrConflict) {
			return nil, logtree.Named(h.Path, err)
		}
		for _, e := range Late(h.Path, late) {
			w.tell(e)
		}
		w.Create, w.ReplaceUnreadable = false, false
		sess, err := s.openWrite(ctx, h, CreateOptions{Dialect: opt.Dialect, Write: w})
		if err != nil {
			return nil, err
		}
		return sess.entitle(ctx, n)
	}
	w.Defer = cmp.Or(w.Defer, dialect.DeferNever) // the file was asked for
	sess, err := s.begin(ctx, h, d, n, w)
	if err == nil {
		sess.w.opt.Defer = cmp.Or(opt.Write.Defer, d.Habits().Defer) // for the sessions that this one turns into
	}
	return sess, err
}

// ContinueRecent opens the session that this terminal used last in a working directory, otherwise the newest there, and
// begins one if there is none. The header's cwd decides which sessions belong to that directory. Where the agent has
// profiles, only sessions of opt.Profile count.
func (s *Store) ContinueRecent(ctx context.Context, opt CreateOptions) (*Session, error) {
	asked := opt.CWD
	opt.CWD = s.Absolute(opt.CWD)
	d, err := s.writer(place.Sessions(opt.Dialect))
	if err != nil {
		return nil, err
	}
	looked := d.Dialect
	if place.IsRuns(opt.Dialect) {
		looked = opt.Dialect // opt.Dialect stands for all places of the agent's sessions
	}
	opt.Dialect = d.Dialect
	// Not if the caller named a folder: the terminal's last session may lie elsewhere.
	if opt.Dir == "" {
		if sess := s.followBreadcrumb(ctx, d.Dialect, opt); sess != nil {
			return sess, nil
		}
	}
	dir, err := s.profiled(d.Dialect, opt)
	if err != nil {
		return nil, err
	}
	row, ok, err := s.Newest(ctx, looked, dir, opt.CWD)
	if err != nil {
		return nil, err
	}
	if ok {
		opt.Dialect = row.Dialect
		return s.OpenWrite(ctx, row.Path, opt)
	}
	if err := s.checkCWD(asked, opt.Write); err != nil {
		return nil, err
	}
	return s.create(ctx, opt, false)
}
