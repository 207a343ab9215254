package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// Session is one session, open for reading, or for reading and appending. Its methods may be called from several
// goroutines at once.
type Session struct {
	store   *Store
	path    string // "" for a session that is in memory only
	dir     string // where new sessions and copies go; "" is the folder of path
	dialect dialect.Dialect
	blobs   blob.Reader

	// mu guards what follows; path, dir and blobs change under it, too, when the session becomes another (see become).
	mu      sync.RWMutex
	log     backend.Log
	tree    *session.Tree
	source  *logSource
	closers []io.Closer
	closed  bool
	w       *writing // nil: for reading only
}

// loaded is what reading a log gives.
type loaded struct {
	builder *session.Builder
	dec     dialect.Decoder
	tree    *session.Tree
	lines   int
	loose   bool // see writing
}

// load reads a log and builds the tree. known is what was known of the session before. The whole log is read, but only the
// envelopes of entries are kept: see session.Builder.
func load(ctx context.Context, b backend.Backend, at backend.Log, d dialect.Dialect, path string, src session.Source, known session.Header) (loaded, error) {
	l := loaded{builder: seeded(d, path, src, known)}
	l.builder.Expect(at.Size)
	l.dec = d.NewDecoder(l.builder)
	err := eachRecord(ctx, b, at, func(r dialect.Record) {
		known := l.builder.Len()
		l.dec.Decode(r)
		l.lines = r.Line
		if r.Torn {
			l.loose = isLoose(r.Data, r.Torn, l.builder.Len()-known)
		}
	})
	if err != nil {
		return l, err
	}
	if err := l.dec.Finish(); err != nil {
		var p *session.Problem
		if errors.As(err, &p) {
			// The decoder knows no file.
			p.File = path
		}
		return l, fmt.Errorf("%w: %w", err, ErrNotSession)
	}
	l.tree = l.builder.Finish()
	return l, nil
}

// Path is the file, as it was given; "" for a session that is in memory only.
func (s *Session) Path() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.path
}

// Dir is the folder for what the session turns into: new sessions, forks, branched sessions; "" for one that is in memory
// only.
func (s *Session) Dir() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.folder()
}

func (s *Session) folder() string {
	if s.dir != "" || s.path == "" {
		return s.dir
	}
	return filepath.Dir(s.path)
}

// Log is the log as it was when we last read or wrote it.
func (s *Session) Log() backend.Log {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.log
}

// Dialect is how the log is read.
func (s *Session) Dialect() dialect.Dialect { return s.dialect }

// Tree is the session's entries. It must not be used while another goroutine appends: see View.
func (s *Session) Tree() *session.Tree {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.tree
}

// View calls f with the tree while no append changes it. f must not call the session's methods.
func (s *Session) View(f func(*session.Tree) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return f(s.tree)
}

// Header is what the log's first record says.
func (s *Session) Header() session.Header { return s.Tree().Header() }

// ID is the session's id.
func (s *Session) ID() session.ID { return s.Header().ID }

// Leaf is the id of the entry where the conversation is now, "" where it is before the first one.
func (s *Session) Leaf() session.EntryID {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.tree.LeafID()
}

// Close ends the work on the session: what was appended is written and, unless the durability is DurabilityNone, survives
// a crash of the machine. A session that was never worth a log leaves none. Close does what it can and returns the first
// error, which may be that of an earlier write. A second call does nothing.
func (s *Session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	// Set before the waiting, so that no new append begins meanwhile.
	s.closed = true
	if s.w == nil {
		return s.release()
	}
	for s.w.busy { // what was proposed is written first
		s.w.idle.Wait()
	}
	// A write that failed makes the log's end unknown: to sync it would claim too much.
	err := s.w.err
	if err == nil && s.w.created && s.w.opt.Durability != DurabilityNone {
		err = named(s.path, syncLog(context.Background(), s.w.b, s.log))
	}
	return first(err, s.release())
}

// first gives the first of the errors that is one.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// release closes what the session holds open.
func (s *Session) release() error {
	errs := []error{s.source.Close()}
	for _, c := range s.closers {
		errs = append(errs, c.Close())
	}
	s.closers = nil
	return first(errs...)
}

// Flush returns when all that was appended survives a crash of the machine.
func (s *Session) Flush(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.writable()
	if err != nil {
		return err
	}
	if !w.created {
		return nil
	}
	err = syncLog(ctx, w.b, s.log)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
		return err // nothing was tried
	}
	return s.latch(err)
}

// syncLog makes a log survive a crash of the machine.
func syncLog(ctx context.Context, b backend.Backend, at backend.Log) error {
	if syncer, ok := b.(backend.Syncer); ok {
		return syncer.Sync(ctx, at)
	}
	return nil
}

// ContextOptions ask for a context other than the agent's own.
type ContextOptions struct {
	DropFailed, StripDangling, LLM bool
	// NoBlobs leaves references to blobs as they are.
	NoBlobs bool
	// FallBack takes the last entry where the leaf is unknown.
	FallBack bool
	// Problem, if set, is told of blobs that are not there.
	Problem func(session.Problem)
	// Here, if set, is where the session goes on: agents that tell the model of it when that is elsewhere than before have
	// their message before all others.
	Here *dialect.Here
}

// Context computes what the model would see at leaf; "" is the place before the first entry. Its messages are read later,
// when they are asked for, and do not change when the session goes on.
func (s *Session) Context(ctx context.Context, leaf session.EntryID, opt ContextOptions) (*session.Context, error) {
	o := session.ContextOptions{
		DropFailed: opt.DropFailed, StripDangling: opt.StripDangling, LLM: opt.LLM, FallBack: opt.FallBack,
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if !opt.NoBlobs {
		// A copy: the context may be read when the session has become another one.
		shelf := blobShelf{s.path, s.dialect, s.blobs}
		o.Resolve = func(m []byte) ([]byte, error) { return shelf.resolve(ctx, m, opt.Problem) }
	}
	if opt.Here != nil {
		o.Before = s.resumeHere(*opt.Here)
	}
	c, err := session.BuildContext(s.tree, leaf, o)
	if err != nil {
		return nil, err
	}
	// From here on it does not look at the tree, which appends change.
	c.Detach()
	return c, nil
}

// blobShelf is where the references of a session are looked up.
type blobShelf struct {
	path    string
	dialect dialect.Dialect
	blobs   blob.Reader
}

// resolve puts blobs in the place of their references. One that cannot be had is reported, and its reference stays.
func (b blobShelf) resolve(ctx context.Context, m []byte, report func(session.Problem)) ([]byte, error) {
	return b.dialect.Codec().ResolveBlobs(m, func(ref string) ([]byte, error) {
		content, p := b.get(ctx, ref)
		if p == nil {
			return content, nil
		}
		if report != nil {
			report(*p)
		}
		return nil, p
	})
}

// Blob reads the blob that a reference names, or says why it cannot.
func (s *Session) Blob(ctx context.Context, ref string) ([]byte, *session.Problem) {
	s.mu.RLock()
	shelf := blobShelf{s.path, s.dialect, s.blobs}
	s.mu.RUnlock()
	return shelf.get(ctx, ref)
}

func (b blobShelf) get(ctx context.Context, ref string) ([]byte, *session.Problem) {
	// A message with a picture that is gone is still worth reading: it is a problem, and no error.
	p := &session.Problem{File: b.path, Kind: session.ProblemBlobMissing,
		Advice: "the reference was left in its place; copy the blob into the agent's folder of blobs to see it"}
	r, err := blob.ParseRef(ref)
	switch {
	case err != nil:
		p.Kind = session.ProblemBlobRef
		p.Advice = "the text was left in its place"
	case b.blobs == nil:
		err = fmt.Errorf("%s: %w: %s keeps no blobs", r, blob.ErrNotExist, b.dialect.Name())
	default:
		var content []byte
		if content, err = blob.Get(ctx, b.blobs, r); err == nil {
			return content, nil
		}
	}
	p.Message = err.Error()
	return nil, p
}

// resolveBlobs is resolve for the session as it is now, which the caller has locked.
func (s *Session) resolveBlobs(ctx context.Context, m []byte, report func(session.Problem)) ([]byte, error) {
	return blobShelf{s.path, s.dialect, s.blobs}.resolve(ctx, m, report)
}
