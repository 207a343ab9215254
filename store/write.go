package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// Policy says what an append does when somebody else wrote to the log since we last looked.
type Policy string

const (
	// PolicyBranch: our entry keeps its parent and becomes a branch beside theirs. Nobody's words are lost or hung
	// below other words than they were meant for.
	PolicyBranch Policy = "branch"
	// PolicyFollow: our entry goes on from theirs.
	PolicyFollow Policy = "follow"
	// PolicyRefuse: the append fails with ErrForeign, and the session shows what they wrote.
	PolicyRefuse Policy = "refuse"
)

// Errors of writing, told apart with errors.Is.
var (
	// ErrReadOnly: the session was opened for reading.
	ErrReadOnly = errors.New("session is open for reading only")
	// ErrForeign: somebody else wrote to the log, and the policy is to refuse.
	ErrForeign = errors.New("another writer was there first")
	// ErrNewer: the log is of a newer version than we know.
	ErrNewer = errors.New("written by a newer version")
	// ErrUnsupported: the dialect cannot express it.
	ErrUnsupported = errors.New("not supported")
	// ErrClosed: the session was closed.
	ErrClosed = errors.New("session is closed")
)

// WriteOptions say how a session is written.
type WriteOptions struct {
	// Durability says what an append survives when it returns; "" is DurabilityFlush.
	Durability Durability
	// Create begins a session where OpenWrite finds no file, or an empty one.
	Create bool
	// ReplaceUnreadable begins a fresh session where OpenWrite finds a file that is no session. What it holds is first
	// kept beside it.
	ReplaceUnreadable bool
	// Policy is for a second writer; "" is PolicyBranch.
	Policy Policy
	// Defer says when the log of a new session is created; "" is the dialect's own habit.
	Defer dialect.Defer
	// NoOverflow lets go of the part of a monstrous string that the agent's format cuts off. Otherwise the whole of it goes
	// to a blob.
	NoOverflow bool
	// Observer, if set, is told what happens.
	Observer Observer
	// Log, if set, is told once of the first write that failed.
	Log *slog.Logger
	// Clock and Random are the sources of times and ids; nil means those of the machine.
	Clock  func() time.Time
	Random io.Reader
}

// Durability says what an append survives when it returns.
type Durability string

const (
	// DurabilityNone: a crash of the process.
	DurabilityNone Durability = "none"
	// DurabilityFlush: a crash of the process; after Flush, Close and every rewrite also one of the machine.
	DurabilityFlush Durability = "flush"
	// DurabilityAlways: a crash of the machine.
	DurabilityAlways Durability = "always"
)

func (o *WriteOptions) fill() {
	if o.Durability == "" {
		o.Durability = DurabilityFlush
	}
	if o.Policy == "" {
		o.Policy = PolicyBranch
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Observer == nil {
		o.Observer = func(Event) {}
	}
}

// Appended says what became of an append.
type Appended struct {
	ID session.EntryID
	// Durable is false while the log waits for the first message that makes it worth keeping.
	Durable bool
	// Foreign is how many entries others wrote since we last looked; Outcome what was done about it.
	Foreign int
	Outcome Policy
}

// writing is the state of a session that is open for writing. The session's lock guards it.
type writing struct {
	d       dialect.Writer
	b       backend.Backend
	opt     WriteOptions
	builder *session.Builder
	dec     dialect.Decoder
	name    string // of the log
	lines   int
	tail    []byte // the last bytes of the log, to tell growth from another file
	created bool
	waiting [][]byte // header and records that wait for the log to be created
	blobs   blob.Store
	err     error // the first write that failed

	queue    []*proposal
	busy     bool
	tip      session.EntryID // the last proposed entry: where the next one goes on
	proposed map[session.EntryID]bool
	idle     *sync.Cond // told when busy ends
}

// newWriting begins to write a session.
func (s *Session) newWriting(d dialect.Writer, b backend.Backend, name string, opt WriteOptions) *writing {
	return &writing{d: d, b: b, opt: opt, name: name, proposed: map[session.EntryID]bool{}, idle: sync.NewCond(&s.mu)}
}

// proposal is an entry that is not in the tree yet.
type proposal struct {
	entry  dialect.NewEntry
	record []byte
	done   chan struct{}
	result Appended
	err    error
}

// Append adds an entry behind the leaf and moves the leaf to it. It is encoded now: what happens to the body later does
// not matter. Several goroutines may append at once: each goes on from the one before, and they share a write.
//
// Memory never runs ahead of the log: the tree has the entry only when it is written, as lasting as the backend was
// asked to make it; until the log of a new session is created, entries are in the tree and say that they are not durable.
// A write that failed is returned by this and every later append until the session is opened again.
func (s *Session) Append(ctx context.Context, body session.Body) (Appended, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.append(ctx, body, nil)
}

// append proposes an entry and sees it through. at, if set, is where it goes on instead of at the tip.
func (s *Session) append(ctx context.Context, body session.Body, at *session.EntryID) (Appended, error) {
	w, err := s.writable()
	if err != nil {
		return Appended{}, err
	}
	parent := w.tip
	if at != nil {
		parent = *at
	}
	p, err := s.propose(ctx, body, parent)
	if err != nil {
		return Appended{}, err
	}
	w.tip = p.entry.ID
	if !w.created {
		return s.appendDeferred(ctx, p)
	}
	w.queue = append(w.queue, p)
	if w.busy {
		s.mu.Unlock()
		<-p.done
		s.mu.Lock()
		return p.result, p.err
	}
	s.lead(context.WithoutCancel(ctx))
	return p.result, p.err
}

// writable says why the session cannot be written, if so.
func (s *Session) writable() (*writing, error) {
	switch {
	case s.closed:
		return nil, fmt.Errorf("%s: %w", s.path, ErrClosed)
	case s.w == nil:
		return nil, fmt.Errorf("%s: %w", s.path, ErrReadOnly)
	case s.w.err != nil:
		return nil, s.w.err
	}
	return s.w, nil
}

// settled is writable for what changes more than the end of the log: it waits until all that was proposed is written.
func (s *Session) settled() (*writing, error) {
	for s.w != nil && s.w.busy {
		s.w.idle.Wait()
	}
	return s.writable()
}

// propose makes the record of a new entry. Blobs are kept before the record that names them can be.
func (s *Session) propose(ctx context.Context, body session.Body, parent session.EntryID) (*proposal, error) {
	w := s.w
	id, err := s.freshID()
	if err != nil {
		return nil, err
	}
	p := &proposal{
		entry: dialect.NewEntry{ID: id, Parent: parent, Time: w.opt.Clock(), Body: body},
		done:  make(chan struct{}),
	}
	if err := s.encode(ctx, p); err != nil {
		return nil, err
	}
	w.proposed[id] = true
	return p, nil
}

func (s *Session) encode(ctx context.Context, p *proposal) error {
	w := s.w
	record, err := w.d.Record(p.entry)
	if err != nil {
		return fmt.Errorf("%s: %w", s.path, err)
	}
	if p.record, err = s.persist(ctx, record); err != nil {
		return fmt.Errorf("%s: %w", s.path, err)
	}
	return nil
}

// persist does to a record what the agent does before it keeps one. What stays in memory stays whole: there is no blob
// that could hold what is cut off.
func (s *Session) persist(ctx context.Context, record []byte) ([]byte, error) {
	w := s.w
	if s.path == "" {
		return record, nil
	}
	opt := dialect.PersistOptions{KeepOverflow: !w.opt.NoOverflow}
	if w.blobs != nil {
		opt.Put = func(b []byte) (string, error) {
			ref, err := w.blobs.Put(ctx, b)
			return ref.String(), err
		}
	}
	return w.d.Persist(record, opt)
}

// freshID makes an id that no entry has, in the log or proposed.
func (s *Session) freshID() (session.EntryID, error) {
	for range 100 {
		id, err := s.w.d.NewEntryID(s.w.opt.Random)
		if err != nil {
			return "", err
		}
		if _, taken := s.tree.Lookup(id); !taken && !s.w.proposed[id] {
			return id, nil
		}
	}
	return "", errors.New("no free entry id found in 100 tries")
}

// appendDeferred takes an entry of a session whose log is not created yet.
func (s *Session) appendDeferred(ctx context.Context, p *proposal) (Appended, error) {
	w := s.w
	w.waiting = append(w.waiting, p.record)
	w.builder.Pending(true)
	w.dec.Decode(dialect.Record{Data: p.record})
	w.builder.Finish()
	delete(w.proposed, p.entry.ID)
	if !wakes(w.opt.Defer, p.entry.Body) {
		return Appended{ID: p.entry.ID}, nil
	}
	if err := s.create(ctx); err != nil {
		return Appended{}, err
	}
	return Appended{ID: p.entry.ID, Durable: true}, nil
}

// wakes says whether an entry makes a session worth a log.
func wakes(d dialect.Defer, body session.Body) bool {
	m, ok := body.(session.Message)
	if !ok {
		return false
	}
	switch d {
	case dialect.DeferMessage:
		return m.Role == session.RoleUser || m.Role == session.RoleAssistant
	case dialect.DeferAssistant:
		return m.Role == session.RoleAssistant
	}
	return true
}

// create writes the log: the header and all that waited, at once.
func (s *Session) create(ctx context.Context) error {
	w := s.w
	at, err := w.b.Create(context.WithoutCancel(ctx), w.name, w.waiting...)
	if err != nil {
		return s.latch(err)
	}
	offset := int64(0)
	pending := 0
	for i, r := range w.waiting {
		if i > 0 {
			w.builder.Place(pending, session.Span{Offset: offset, Length: int64(len(r))}, i+1)
			pending++
		}
		offset += int64(len(r)) + 1
	}
	w.builder.Pending(false)
	w.created, w.lines, w.waiting = true, len(w.waiting), nil
	s.wrote(at)
	s.readTail()
	s.breadcrumb(ctx)
	return nil
}

// wrote notes what the log is now.
func (s *Session) wrote(at backend.Log) {
	s.log = at
	s.source.moved(at)
}

// readTail notes how the log ends. Where that cannot be read, the next conflict reads the log anew.
func (s *Session) readTail() {
	n := min(s.log.Size, 64)
	s.w.tail, _ = s.source.Bytes(session.Span{Offset: s.log.Size - n, Length: n})
}

// latch keeps the first error of a write and tells of it once.
func (s *Session) latch(err error) error {
	if s.w.err == nil {
		s.w.err = named(s.path, err)
		s.w.opt.Log.Error("session could not be written; open it again to go on", "file", s.path, "error", err)
	}
	return s.w.err
}

// lead writes all that is proposed, batch by batch, until nothing is left. It lets go of the lock while it writes, so
// that more can be proposed meanwhile.
func (s *Session) lead(ctx context.Context) {
	w := s.w
	w.busy = true
	for len(w.queue) > 0 {
		batch := w.queue
		w.queue = nil
		if err := s.commit(ctx, batch); err != nil {
			// What was proposed meanwhile hangs on what failed: it fails too.
			s.fail(append(batch, w.queue...), err)
			w.queue = nil
			break
		}
	}
	w.busy = false
	w.tip = s.tree.LeafID()
	w.idle.Broadcast()
}

func (s *Session) fail(batch []*proposal, err error) {
	for _, p := range batch {
		p.err = err
		delete(s.w.proposed, p.entry.ID)
		close(p.done)
	}
}
