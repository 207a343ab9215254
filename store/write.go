package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// writing is the state of a session that is open for writing. The session's lock guards it.
type writing struct {
	d       dialect.WritingDialect
	maker   dialect.RecordAppender // d, where it is one
	b       backend.Backend
	opt     WriteOptions
	builder *session.Builder
	dec     dialect.Decoder
	adder   dialect.Adder // dec, where it is one
	name    string        // of the log
	lines   int
	head    []byte // the first bytes of the log, to tell growth from another file
	tail    []byte // the last ones
	loose   bool   // the last line has entries and no newline, and is more than one JSON value
	created bool
	waiting [][]byte // header and records that wait for the log to be created
	end     int64    // the size that the log of what waits would have
	blobs   blob.Store
	keeper  blobKeeper
	said    session.Message // by AppendMessage, until it is proposed
	err     error           // the first write that failed

	queue   []*proposal
	spare   []*proposal     // the queue before, for its memory
	done    *proposal       // one that nobody needs any more, for its memory
	records [][]byte        // of the batch that is written
	busy    bool            // somebody leads
	batch   []*proposal     // what is being written
	tip     session.EntryID // the last proposed entry: where the next one goes on
	idle    *sync.Cond      // told when busy ends
}

// newWriting begins to write a session.
func (s *Session) newWriting(d dialect.WritingDialect, b backend.Backend, name string, opt WriteOptions) *writing {
	if opt.Policy == PolicyBranch && !d.Habits().Branches {
		opt.Policy = PolicyFollow // there is nothing but going on from theirs
	}
	maker, _ := d.Dialect.(dialect.RecordAppender)
	return &writing{d: d, maker: maker, b: b, opt: opt, name: name, idle: sync.NewCond(&s.mu)}
}

// proposal is an entry that is not in the tree yet.
type proposal struct {
	ctx    context.Context
	entry  dialect.NewEntry
	from   []byte // the record that somebody has of it, if so
	fixed  bool   // the parent was asked for: it stays, whatever others write
	record []byte
	buf    []byte          // the record's memory, where the dialect makes it there
	said   session.Message // the body, where it was not put into an interface
	// turn, if somebody waits, is closed when it is his turn to lead, or all is done.
	turn chan struct{}
	done bool
	// given is the id that the entry has in the log, where its record does not carry one.
	given  session.EntryID
	result Appended
	err    error
}

// Append adds an entry behind the leaf and moves the leaf to it. It is encoded now: what happens to the body later does
// not matter. Several goroutines may append at once: each goes on from the one before, and they share a write.
//
// Memory never runs ahead of the log: the tree has the entry only when it is written, as lasting as the backend was
// asked to make it; until the log of a new session is created, entries are in the tree and say that they are not durable.
// A write that failed is returned by this and every later append until the session is opened again; one that was never begun,
// since others held the log for too long (backend.ErrLocked), may be tried again.
//
// Others may write to the log at the same time. What programs of this library write is always noticed, and dealt with by
// WriteOptions.Policy; programs that take no lock are noticed by the size and identity of the file. What cannot be noticed
// is a program that takes no lock and replaces or cuts the file in the very moment of our write, see package
// backend/file.
//
// Cancelling ctx ends the waiting for other writers; then nothing was written. An entry that shares its write with
// others is not given up.
func (s *Session) Append(ctx context.Context, body session.Body) (Appended, error) {
	if m, ok := body.(session.Message); ok {
		m.Role = s.dialect.Codec().Role(m.JSON) // the message itself says who speaks
		body = m
	}
	return s.add(ctx, body)
}

func (s *Session) add(ctx context.Context, body session.Body) (Appended, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.append(ctx, body, nil)
}

// append proposes an entry and sees it through. at, if set, is where it goes on instead of at the tip.
func (s *Session) append(ctx context.Context, body session.Body, at *session.EntryID) (Appended, error) {
	return s.appendFrom(ctx, body, nil, at)
}

// appendFrom is append for an entry that somebody has as a record: members of it that the body does not know are taken
// over.
func (s *Session) appendFrom(ctx context.Context, body session.Body, from []byte, at *session.EntryID) (Appended, error) {
	w, err := s.writable()
	if err != nil {
		return Appended{}, err
	}
	if ctx.Err() != nil {
		return Appended{}, context.Cause(ctx)
	}
	parent := w.tip
	if at != nil {
		parent = *at
	}
	p, err := s.propose(ctx, body, from, parent)
	if err != nil {
		return Appended{}, err
	}
	p.fixed = at != nil
	if !w.created {
		return s.appendDeferred(ctx, p)
	}
	w.tip = p.entry.ID
	if leaf, ok := body.(session.Leaf); ok {
		w.tip = leaf.Target // nothing hangs on an entry that moves the leaf
	}
	w.queue = append(w.queue, p)
	// Somebody writes: he, or one behind him, writes this one along. The lock is let go, or he could not finish.
	if w.busy {
		turn := make(chan struct{})
		p.turn = turn
		s.mu.Unlock()
		<-turn
		s.mu.Lock()
		if p.done {
			return p.result, p.err
		}
	}
	// Nobody writes, or it is our turn: the queue begins with us, and holds all that came since.
	s.lead()
	result, err := p.result, p.err
	// Only the leader may: whoever waits still has his own.
	w.recycle(p)
	return result, err
}

// keepRecord is the largest buffer that is kept for the next record.
const keepRecord = 1 << 20

// recycle keeps the memory of a proposal that nobody else has for the next one.
func (w *writing) recycle(p *proposal) {
	buf := p.buf
	if cap(buf) > keepRecord {
		buf = nil
	}
	*p = proposal{buf: buf}
	w.done = p
}

// writable says why the session cannot be written, if so.
func (s *Session) writable() (*writing, error) {
	switch {
	case s.closed:
		return nil, named(s.path, ErrClosed)
	case s.w == nil:
		return nil, named(s.path, ErrReadOnly)
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

// appendDeferred takes an entry of a session whose log is not created yet.
func (s *Session) appendDeferred(ctx context.Context, p *proposal) (Appended, error) {
	w := s.w
	if wakes(w.opt.Defer, s.asWritten(p)) {
		if err := s.create(ctx, p.record); err != nil {
			return Appended{}, err
		}
	} else {
		s.wait(p.record)
		w.builder.Finish()
	}
	w.tip = s.tree.LeafID()
	return Appended{ID: s.tree.At(s.tree.Len() - 1).ID, Durable: w.created}, nil
}

// asWritten is the body of an entry as its record says it: the dialect may know more of a message than who made it.
func (s *Session) asWritten(p *proposal) session.Body {
	if _, ok := p.entry.Body.(session.Message); ok {
		if body, err := bodyOf(s.dialect, p.record); err == nil {
			return body
		}
	}
	return p.entry.Body
}

// wait keeps a record for the log that is to be created and decodes it.
func (s *Session) wait(record []byte) {
	w := s.w
	w.waiting = append(w.waiting, record)
	w.dec.Decode(dialect.Record{Data: record, Offset: w.end, Line: len(w.waiting)})
	w.end += int64(len(record)) + 1
}

// wakes says whether an entry makes a session worth a log.
func wakes(d dialect.Defer, body session.Body) bool {
	m, ok := body.(session.Message)
	if !ok {
		return false
	}
	switch d {
	case dialect.DeferMessage:
		return !m.Meta && (m.Role == session.RoleUser || m.Role == session.RoleAssistant)
	case dialect.DeferAssistant:
		return m.Role == session.RoleAssistant
	}
	return true
}

// create writes the log at once: the header, all that waited, and more. What cannot be written is not in the tree.
func (s *Session) create(ctx context.Context, more ...[]byte) error {
	w := s.w
	s.note(ctx)
	// Not to be cancelled: whether the log is there must not be in doubt.
	at, err := w.b.Create(context.WithoutCancel(ctx), w.name, append(slices.Clip(w.waiting), more...)...)
	if err != nil {
		return s.latch(err)
	}
	// What is in the tree already is durable now, and what follows is from the start.
	w.builder.Written()
	for _, r := range more {
		s.wait(r)
	}
	w.builder.Finish()
	w.created, w.lines, w.waiting = true, len(w.waiting), nil
	s.log = at
	s.source.grown(at)
	s.readEnds()
	s.breadcrumb(ctx)
	return nil
}

// readEnds notes how the log begins, up to the end of the header, and how it ends. Where that cannot be read, the next
// conflict reads the log anew.
func (s *Session) readEnds() {
	n := min(s.log.Size, tailKept)
	s.w.head, _ = s.source.Bytes(session.Span{Length: s.tree.Header().Span.End()})
	s.w.tail, _ = s.source.Bytes(session.Span{Offset: s.log.Size - n, Length: n})
}

// tailKept is how many bytes of the log's end are remembered.
const tailKept = 64

// latch keeps the first error of a write and tells of it once.
func (s *Session) latch(err error) error {
	if errors.Is(err, backend.ErrLocked) && s.w.err == nil {
		return named(s.path, err) // nothing was written, and nothing is unknown: it may be tried again
	}
	if s.w.err == nil {
		s.w.err = err
		if s.path != "" {
			s.w.err = fmt.Errorf("%s: %w", s.path, err)
		}
		s.w.opt.Log.Error("session could not be written; open it again to go on", "file", s.path, "error", err)
	}
	return s.w.err
}
