package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/memory"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// CreateOptions say what a new session is.
type CreateOptions struct {
	// CWD is the working directory that the session is about; "" is this process's.
	CWD string
	// Dir is the folder of the log; "" is where the agent would keep it.
	Dir string
	// Dialect is the format; nil is the default one.
	Dialect dialect.Dialect
	// ID is the session's id; "" makes one.
	ID session.ID
	// Title and Parent stand in the header.
	Title, Parent string
	Write         WriteOptions
}

// Sessions gives the dialect of an agent's sessions where d is that of its runs: who names the agent means these. It is d
// itself otherwise.
func Sessions(d dialect.Dialect) dialect.Dialect {
	if r, ok := d.(dialect.Runs); ok {
		return r.Sessions()
	}
	return d
}

// Create begins a session. Its log is created when the dialect, or Write.Defer, says so; until then nothing is on disk.
func (s *Store) Create(ctx context.Context, opt CreateOptions) (*Session, error) {
	d, err := s.writer(Sessions(opt.Dialect))
	if err != nil {
		return nil, err
	}
	opt.Write.fill()
	// Id and time are made once, here: header, file name and tree must agree on them.
	n, err := s.newSession(d, opt)
	if err != nil {
		return nil, err
	}
	dir := opt.Dir
	if dir == "" {
		dir = s.sessionDir(d.Dialect, n.CWD)
	} else {
		dir = s.placeIn(d.Dialect, dir)
	}
	sess, err := s.begin(ctx, d, n, filepath.Join(dir, s.fileName(d.Dialect, n)), opt.Write)
	if err != nil {
		return nil, err
	}
	return sess.entitle(ctx, n)
}

// entitle names a new session whose agent keeps names in entries. Where that fails the session is closed. It is an append
// like any other: where creation is deferred, the name waits with the rest.
func (s *Session) entitle(ctx context.Context, n dialect.NewSession) (*Session, error) {
	if n.Title == "" || !s.w.d.Habits().RenameByEntry {
		return s, nil
	}
	if _, err := s.AppendSessionInfo(ctx, n.Title); err != nil {
		return nil, first(err, s.Close())
	}
	return s, nil
}

// InMemory begins a session that is never written anywhere.
func (s *Store) InMemory(ctx context.Context, opt CreateOptions) (*Session, error) {
	d, err := s.writer(Sessions(opt.Dialect))
	if err != nil {
		return nil, err
	}
	opt.Write.fill()
	// There is nothing on disk that could be put off, and the log in memory must be there to be read.
	opt.Write.Defer = dialect.DeferNever
	n, err := s.newSession(d, opt)
	if err != nil {
		return nil, err
	}
	sess, err := s.beginIn(ctx, memory.New(), memoryName, "", d, n, opt.Write)
	if err != nil {
		return nil, err
	}
	return sess.entitle(ctx, n)
}

// memoryName is what the log of a session in memory is called.
const memoryName = "session.jsonl"

// writer gives the dialect to write with.
func (s *Store) writer(d dialect.Dialect) (dialect.WritingDialect, error) {
	if d == nil {
		d = s.opt.Dialects[0]
	}
	w, ok := dialect.AsWriter(d)
	if _, runs := d.(dialect.Runs); runs && !ok {
		return w, fmt.Errorf("changing the log of a run of %s is %w: 'treeline run record' records one, 'treeline convert' makes a session of one",
			d.Name(), ErrUnsupported)
	}
	if !ok {
		return w, fmt.Errorf("writing sessions of %s is %w: no program of today reads them; 'treeline convert' makes one of today of what is there",
			d.Name(), ErrUnsupported)
	}
	return w, nil
}

// IDError says why a session cannot have the id that somebody chose.
type IDError struct{ Err error }

// Error implements error.
func (e *IDError) Error() string { return e.Err.Error() }

// Unwrap gives the reason.
func (e *IDError) Unwrap() error { return e.Err }

func (s *Store) newSession(d dialect.WritingDialect, opt CreateOptions) (dialect.NewSession, error) {
	n := dialect.NewSession{ID: opt.ID, Time: opt.Write.Clock(), CWD: s.absolute(opt.CWD), Title: opt.Title, Parent: opt.Parent}
	// An id that somebody chose becomes a file name, and is checked; one that the dialect makes needs no check.
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

// absolute makes a directory absolute, by the working directory that the store was given and not by this process's.
func (s *Store) absolute(dir string) string {
	if filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	return filepath.Join(s.opt.Env.WorkDir, dir)
}

// placeIn is where the logs of a dialect lie if somebody wants them in a folder of his own.
func (s *Store) placeIn(d dialect.Dialect, dir string) string {
	if p, ok := d.Layout().(dialect.Housed); ok {
		return p.Place(s.absolute(dir))
	}
	return dir
}

// fileName is what the agent calls the log of a new session. Some put the local time into it.
func (s *Store) fileName(d dialect.Dialect, n dialect.NewSession) string {
	if zone := s.opt.Env.Zone; zone != nil {
		n.Time = n.Time.In(zone)
	}
	return d.Layout().File(n.Time, n.ID)
}

// sessionDir is where the agent would keep the sessions of a working directory. The first root is the most specific one: an
// agent that is told of a folder by its environment writes there.
func (s *Store) sessionDir(d dialect.Dialect, cwd string) string {
	return s.dirFor(d, d.Layout().Roots(s.opt.Env)[0], cwd)
}

// begin begins a session at a path where no log is.
func (s *Store) begin(ctx context.Context, d dialect.WritingDialect, n dialect.NewSession, path string, opt WriteOptions) (*Session, error) {
	b, err := s.writeDir(filepath.Dir(path), path, opt)
	if err != nil {
		return nil, err
	}
	sess, err := s.beginIn(ctx, b, filepath.Base(path), path, d, n, opt)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return sess, nil
}

// beginIn begins a session in a log of any backend, which the session closes.
func (s *Store) beginIn(ctx context.Context, b backend.Backend, name, path string, d dialect.WritingDialect, n dialect.NewSession, opt WriteOptions) (*Session, error) {
	header, err := d.Header(n)
	if err != nil {
		return nil, err
	}
	if opt.Defer == "" {
		opt.Defer = d.Habits().Defer
	}
	sess := s.waitingSession(b, name, path, d, born(n), some(header), opt)
	// A header that the dialect made and cannot read is a mistake that must not reach the disk.
	if err := sess.w.dec.Finish(); err != nil {
		return nil, err
	}
	if opt.Defer == dialect.DeferNever {
		if err := sess.create(ctx); err != nil {
			return nil, err
		}
	}
	return sess, nil
}

// some is a list of one record, or of none where the format has no such record.
func some(record []byte) [][]byte {
	if record == nil {
		return nil
	}
	return [][]byte{record}
}

// headerless says whether an empty log is a session.
func headerless(d dialect.Dialect) bool {
	w, ok := d.(dialect.Writer)
	return ok && w.Habits().Headerless
}

// waitingSession makes a session of records that are in no log yet. It closes the backend when it is closed.
func (s *Store) waitingSession(b backend.Backend, name, path string, d dialect.WritingDialect, known session.Header, records [][]byte, opt WriteOptions) *Session {
	// The source has no log yet: the tree keeps the records itself (Builder.Pending) until create tells the source of one.
	sess := &Session{store: s, path: path, dialect: d.Dialect, source: &logSource{b: b, at: backend.Log{Name: name}}, closers: []io.Closer{b}}
	sess.w = sess.newWriting(d, b, name, opt)
	sess.restart(records, known)
	sess.setBlobs()
	return sess
}

// writeDir opens a folder for writing.
func (s *Store) writeDir(dir, path string, opt WriteOptions) (backend.Backend, error) {
	if s.opt.WriteDir == nil {
		return nil, fmt.Errorf("%s: %w", dir, backend.ErrReadOnly)
	}
	// What the backend mends on its way (a torn end, which it moves aside) is told to the observer of this session.
	return s.opt.WriteDir(dir, opt.Durability, func(p session.Problem) {
		p.File = path
		opt.tell(Event{Kind: EventRepaired, Path: path, Problem: &p})
	})
}

// setBlobs finds where the session's blobs are.
func (s *Session) setBlobs() {
	if s.path == "" {
		return
	}
	abs, err := filepath.Abs(s.path)
	if err != nil {
		return
	}
	dir := s.store.blobDir(abs, s.dialect)
	if dir == "" {
		return
	}
	if s.store.opt.OpenBlobs != nil {
		s.blobs = s.store.opt.OpenBlobs(dir)
	}
	if s.w != nil && s.store.opt.WriteBlobs != nil {
		s.w.blobs = s.store.opt.WriteBlobs(dir)
		s.blobs = s.w.blobs
	}
}
