package store

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

// Session is one session, open for reading, or for reading and appending. Its methods may be called from several
// goroutines at once.
type Session struct {
	store   *Store
	dialect dialect.Dialect

	// mu guards what follows. Even the location changes when the session becomes another one; see become.
	mu      sync.RWMutex
	at      place.Location // its Path is "" for a session in memory
	dir     string         // where new sessions and copies go; "" is the folder of the log
	blobs   blob.Reader
	log     backend.Log
	tree    *session.Tree
	model   session.ModelMark // the model of the last answer
	source  *logtree.Source
	release func() error // releases what the backend holds for the log; may be nil
	closed  bool
	w       *writing     // nil: for reading only
	read    *logtree.Log // as it was opened for reading
}

// Path returns the log's path, as it was given; "" for a session in memory.
func (s *Session) Path() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.at.Path
}

// Dir returns the folder for sessions that this one turns into: new sessions, forks, branched sessions; "" for a session in memory.
func (s *Session) Dir() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.folder()
}

func (s *Session) folder() string {
	if s.dir != "" || s.at.Path == "" {
		return s.dir
	}
	return s.store.FolderOf(s.dialect, s.at.Path)
}

// Log returns the log as it was last read or written.
func (s *Session) Log() backend.Log {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.log
}

// Dialect returns the dialect that reads the log.
func (s *Session) Dialect() dialect.Dialect { return s.dialect }

// Tree returns the tree of the session's entries. It must not be used while another goroutine appends: see View.
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

// Read calls f with the session as a log that was read, while no append changes it. f must not call the session's
// methods, and must not keep or close the log.
func (s *Session) Read(f func(*logtree.Log, logtree.Blobs) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	l := &logtree.Log{Path: s.at.Path, At: s.log, Dialect: s.dialect, Source: s.source}
	l.Tree = s.tree
	return f(l, s.shelf())
}

// Renew reads what others appended to a session that is open for reading, as logtree.Log.Renew does. Callers that use Tree
// must not do so meanwhile; View waits. A session that is closed, or open for writing, gives logtree.Replaced.
func (s *Session) Renew(ctx context.Context) (logtree.Change, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.w != nil {
		return logtree.Replaced, nil
	}
	change, err := s.read.Renew(ctx)
	s.log = s.read.At
	return change, s.named(err)
}

// Header returns the session's header.
func (s *Session) Header() session.Header {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.tree.Header()
}

// ID returns the session's id.
func (s *Session) ID() session.ID { return s.Header().ID }

// Leaf returns the id of the entry where the conversation continues, "" if that is before the first one.
func (s *Session) Leaf() session.EntryID {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.tree.LeafID()
}

// Name returns the name that the agent's own program shows for the session, "" if it shows none.
func (s *Session) Name() (string, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return logtree.Name(s.dialect, s.tree)
}

// Title returns the session's title in lists: its Name, or one that another agent's program gave it; "" if it has neither.
func (s *Session) Title() (string, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return logtree.Title(s.dialect, s.tree)
}

// CWD returns the working directory that the session is about: the header's, or the machine's if the header names none.
func (s *Session) CWD() string {
	if dir := s.Header().CWD; dir != "" {
		return dir
	}
	return s.store.Env().WorkDir
}

// Close ends the work on the session: what was appended is written and, unless the durability is DurabilityNone, survives
// a crash of the machine. A session whose creation is still deferred leaves no log. Close does what it can and returns the
// first error, which may be that of an earlier write. A second call does nothing. Later reads of what is not in memory fail with ErrClosed.
func (s *Session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true // before waiting, so that no new append begins
	if s.w == nil {
		return s.letGo()
	}
	for s.w.busy {
		s.w.idle.Wait()
	}
	// After a failed write the log's end is unknown: to sync it would claim too much.
	err := s.w.err
	if err == nil && s.w.created && s.w.opt.Durability != DurabilityNone {
		err = logtree.Named(s.at.Path, backend.Sync(context.Background(), s.at.Backend, s.log))
	}
	return cmp.Or(err, s.letGo())
}

// letGo closes what the session holds open.
func (s *Session) letGo() error {
	if s.w != nil {
		s.takeBack(context.Background(), nil)
	}
	err := s.source.Close()
	if s.release != nil {
		err = cmp.Or(err, s.release())
		s.release = nil
	}
	return err
}

// Flush returns when all that was appended survives a crash of the machine. It creates the log of a session whose creation
// is still deferred, unless the session has no entries.
func (s *Session) Flush(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.writable()
	if err != nil || !w.created && s.tree.Len() == 0 {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := s.endDeferral(ctx); err != nil {
		return err
	}
	err = backend.Sync(ctx, s.at.Backend, s.log)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
		return err // nothing was tried
	}
	return s.latch(err)
}
