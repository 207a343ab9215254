package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/memory"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

// CreateOptions say what a new session is.
type CreateOptions struct {
	// CWD is the working directory that the session is about; "" is the machine's.
	CWD string
	// Dir is the folder of the log; "" is where the agent would keep it.
	Dir string
	// Profile is the agent's profile that the session belongs to; "" is the one in use. It cannot be given with Dir.
	Profile string
	// Dialect is the format; nil is the default one.
	Dialect dialect.Dialect
	// ID is the session's id; "" makes one.
	ID session.ID
	// Title and Parent stand in the header. A title is ErrUnsupported if sessions of the dialect have none.
	Title, Parent string
	Write         WriteOptions
}

// Create begins a session. Its log is created when the dialect, or Write.Defer, says so; until then nothing is on disk.
//
// A CWD that does not exist, or is a file, is refused with a *RefusedError, unless Write.Force is set.
func (s *Store) Create(ctx context.Context, opt CreateOptions) (*Session, error) {
	if err := s.checkCWD(opt.CWD, opt.Write); err != nil {
		return nil, err
	}
	return s.create(ctx, opt, false)
}

// InMemory begins a session that is never stored.
func (s *Store) InMemory(ctx context.Context, opt CreateOptions) (*Session, error) {
	opt.Write.Defer = dialect.DeferNever // there is nothing to defer
	return s.create(ctx, opt, true)
}

func (s *Store) create(ctx context.Context, opt CreateOptions, inMemory bool) (*Session, error) {
	d, err := s.writer(place.Sessions(opt.Dialect))
	if err = cmp.Or(err, opt.Write.complete()); err != nil {
		return nil, err
	}
	n, err := s.newSession(d, opt)
	if err != nil {
		return nil, err
	}
	h := memoryHome()
	if !inMemory {
		if opt.Dir, err = s.profiled(d.Dialect, opt); err != nil {
			return nil, err
		}
		path := place.Join(s.dirFor(d, opt.Dir, n.CWD), s.FileName(d.Dialect, n))
		if err = s.checkTitle(d.Dialect, n, path); err == nil {
			h, err = s.homeAt(path, opt.Write)
		}
		if err != nil {
			return nil, err
		}
	}
	return s.begin(ctx, h, d, n, opt.Write)
}

// profiled returns the folder that opt asks for: its Dir, or the folder of its profile. "" is where the agent would keep the log.
func (s *Store) profiled(d dialect.Dialect, opt CreateOptions) (string, error) {
	if opt.Dir != "" && opt.Profile != "" {
		return "", fmt.Errorf("the folder %s and the profile %q exclude each other", opt.Dir, opt.Profile)
	}
	if opt.Dir != "" {
		return opt.Dir, nil
	}
	return s.ProfileDir(d, opt.Profile)
}

// entitle names a new session by an entry, or in the agent's list of names, if its agent does so. If that fails, the session is removed; it
// stays if how its log ends is unknown.
func (s *Session) entitle(ctx context.Context, n dialect.NewSession) (*Session, error) {
	_, registers := s.dialect.(dialect.Registrar)
	if n.Title == "" || !s.w.d.Habits().RenameByEntry && !registers {
		return s, nil
	}
	if err := s.Rename(ctx, n.Title); err != nil {
		if s.Delete(context.WithoutCancel(ctx)) != nil {
			_ = s.Close() // the error is the one of the name
		}
		return nil, err
	}
	return s, nil
}

// writer returns the dialect to write with; nil is the default one.
func (s *Store) writer(d dialect.Dialect) (dialect.WritingDialect, error) {
	if d == nil {
		d = s.Dialects()[0]
	}
	w, ok := dialect.AsWriter(d)
	if !ok {
		return w, &ReadOnlyError{Dialect: d.Name(), Run: place.IsRuns(d)}
	}
	return w, nil
}

// ReadOnlyError is the error for logs of a dialect that are only read. It wraps ErrUnsupported.
type ReadOnlyError struct {
	Dialect string
	Run     bool // the log is that of a run
}

// Error implements error.
func (e *ReadOnlyError) Error() string {
	if e.Run {
		return fmt.Sprintf("changing the log of a run of %s is %v", e.Dialect, ErrUnsupported)
	}
	return fmt.Sprintf("writing sessions of %s is %v: no program of today reads them", e.Dialect, ErrUnsupported)
}

// Unwrap returns ErrUnsupported.
func (e *ReadOnlyError) Unwrap() error { return ErrUnsupported }

// IDError is the error for an id that a new session cannot have.
type IDError struct{ Err error }

// Error implements error.
func (e *IDError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *IDError) Unwrap() error { return e.Err }

const nameless = "a name for a session of %s is %w: the format has none"

// newSession makes the id and the time of a session, once: header, file name and tree must have the same.
func (s *Store) newSession(d dialect.WritingDialect, opt CreateOptions) (dialect.NewSession, error) {
	n := dialect.NewSession{ID: opt.ID, Time: opt.Write.Clock(), CWD: s.WorkDir(d.Dialect, opt.CWD), Title: opt.Title, Parent: opt.Parent}
	if n.Title != "" && d.Habits().Nameless {
		return n, fmt.Errorf(nameless, d.Dialect.Name(), ErrUnsupported)
	}
	if n.ID != "" {
		if err := d.CheckID(n.ID); err != nil {
			return n, &IDError{err}
		}
		return n, nil
	}
	var err error
	n.ID, err = d.NewID(n.Time, opt.Write.Random)
	return n, err
}

// WorkDir returns a working directory as a session names it: absolute, in UTF-8, the machine's for "", and with links resolved if the agent
// does so.
func (s *Store) WorkDir(d dialect.Dialect, cwd string) string {
	cwd = s.Absolute(cwd)
	if w, ok := dialect.AsWriter(d); ok && w.Habits().ResolvesCWD {
		cwd = s.Resolved(cwd)
	}
	return place.UTF8(cwd)
}

// dirFor returns the folder for a new session: the requested one, or else the agent's.
func (s *Store) dirFor(d dialect.WritingDialect, dir, cwd string) string {
	if dir == "" {
		return s.Home(d.Dialect, cwd)
	}
	return s.In(d.Dialect, dir)
}

// home is where a session's log is written.
type home struct {
	place.Location
	release func() error // may be nil
}

// homeAt prepares to write the log at a path.
func (s *Store) homeAt(path string, opt WriteOptions) (home, error) {
	at, release, err := s.LocateAs(opt.Writer, path, opt.Durability, func(e backend.Mended) { opt.tell(Mended(path, e)) })
	return home{at, release}, err
}

// memoryHome returns the home of a session that is never stored.
func memoryHome() home {
	return home{Location: place.Location{Backend: memory.New(), Name: "session.jsonl"}}
}

// begin begins a session where no log is.
func (s *Store) begin(ctx context.Context, h home, d dialect.WritingDialect, n dialect.NewSession, opt WriteOptions) (*Session, error) {
	if !backend.Lines(h.Backend, h.Name) && !d.Habits().SavedWhole {
		return nil, fmt.Errorf("%s: %w: a session of %s is a file of lines, whose name ends in .jsonl", h.Path, backend.ErrName, d.Dialect.Name())
	}
	opening, err := dialect.Opening(d, n)
	if err != nil {
		return nil, err
	}
	opt.Defer = cmp.Or(opt.Defer, d.Habits().Defer)
	sess := s.waiting(h, d, logtree.Born(n), opening, opt)
	// A header that the dialect made but cannot read must not reach the disk.
	if err := sess.w.dec.Finish(); err != nil {
		return nil, cmp.Or(err, sess.letGo())
	}
	if opt.Defer == dialect.DeferNever {
		if err := sess.create(ctx); err != nil {
			return nil, cmp.Or(err, sess.letGo())
		}
	}
	return sess.entitle(ctx, n)
}

// waiting makes a session of records that are in no log yet. The tree keeps the records until create writes them.
func (s *Store) waiting(h home, d dialect.WritingDialect, known session.Header, records [][]byte, opt WriteOptions) *Session {
	sess := &Session{
		store: s, at: h.Location, release: h.release, dialect: d.Dialect,
		source: logtree.LazySource(h.Backend, backend.Log{Name: h.Name}),
	}
	sess.w = sess.newWriting(d, opt)
	sess.restart(records, known)
	sess.findBlobs()
	return sess
}

// findBlobs opens the session's blobs.
func (s *Session) findBlobs() {
	s.blobs = s.store.Blobs(s.at.Path, s.dialect)
	if s.w == nil {
		return
	}
	if w := s.store.BlobsAs(s.w.opt.Writer, s.at.Path, s.dialect); w != nil {
		s.w.blobs, s.blobs = w, w
	}
}

// CreateFrom writes a session that consists of these records at the place of the draft, and reads it back. The records are written as they
// are. It fails with backend.ErrExist if the log exists.
func (s *Store) CreateFrom(ctx context.Context, d *Draft, records iter.Seq2[[]byte, error]) (*Session, error) {
	d.scratch.noted(d.scratch.noteNew(ctx))
	at, err := backend.CreateFrom(context.WithoutCancel(ctx), d.home.Backend, d.home.Name, records)
	if err != nil {
		d.scratch.takeBack(ctx, err)
		return nil, errors.Join(d.scratch.latch(err), d.Discard())
	}
	sess, l, err := s.openHome(ctx, d.home, CreateOptions{Dialect: d.scratch.dialect})
	if err != nil {
		return nil, errors.Join(err, d.home.Backend.Remove(context.WithoutCancel(ctx), at), d.Discard())
	}
	sess.goOn(d.scratch.w.d, l.Loaded, d.scratch.w.opt)
	sess.w.note = d.scratch.w.note // Delete takes it back
	sess.breadcrumb(ctx)
	return sess, nil
}

// Draft is a session about to be written from records that another package makes; see CreateFrom.
type Draft struct {
	home    home
	scratch *Session
}

// NewDraft prepares a session. dir is its folder; "" is where the agent would keep it. It fails with backend.ErrExist if the log exists.
func (s *Store) NewDraft(ctx context.Context, d dialect.WritingDialect, n dialect.NewSession, dir string, opt WriteOptions) (*Draft, error) {
	if err := opt.complete(); err != nil {
		return nil, err
	}
	opt.Defer = dialect.DeferNever
	h, err := s.homeAt(place.Join(s.dirFor(d, dir, s.Absolute(n.CWD)), s.FileName(d.Dialect, n)), opt)
	if err != nil {
		return nil, err
	}
	if _, err := h.Backend.Stat(ctx, h.Name); err == nil {
		return nil, errors.Join(logtree.Named(h.Path, backend.ErrExist), h.release())
	}
	return &Draft{h, s.waiting(h, d, logtree.Born(n), nil, opt)}, nil
}

// Path returns where the session will be.
func (d *Draft) Path() string { return d.home.Path }

// Persist changes a record as the agent does before it stores one: large images go to blobs, very long strings are cut. final is set if a
// second try would fail in the same way.
func (d *Draft) Persist(ctx context.Context, record []byte) (kept []byte, final bool, err error) {
	kept, err = d.scratch.persist(ctx, record)
	return kept, d.scratch.w.err != nil || ctx.Err() != nil, err
}

// Discard releases what the draft holds.
func (d *Draft) Discard() error { return d.scratch.letGo() }
