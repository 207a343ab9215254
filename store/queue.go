package store

import (
	"errors"
	"sync"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/folders"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/session"
)

// writing is the state of a session that is open for writing. The session's lock guards it.
type writing struct {
	d       dialect.WritingDialect
	opt     WriteOptions
	builder *session.Builder
	dec     dialect.Decoder
	blobs   blob.Store
	err     error         // the first write that failed
	note    *folders.Note // of a log that this session creates

	// The log as it was last read or written. While it does not exist, waiting holds its records, and end is the size that it would have.
	created bool
	tail    logtree.Tail
	loose   bool // unterminated last line that an append would move aside as torn
	unsure  bool // how much of the log is in the tree is unknown
	waiting [][]byte
	end     int64
	held    held

	// Group commit: an append that finds no write under way leads, and writes all that is queued as one batch.
	queue  []*proposal
	batch  []*proposal // what is being written
	spare  []*proposal // memory for the next queue
	busy   bool
	idle   *sync.Cond      // signalled when busy ends
	tip    session.EntryID // the last proposed entry: the parent of the next one
	moved  bool            // the leaf was moved, and no entry has been written since
	header session.Header  // for proposals
	free   *proposal       // a finished proposal, to be reused by the next append
	group  [1]*proposal    // memory for the list of a proposal
	lines  [][]byte        // memory for the records of the next batch
}

// moves reports whether the next proposal is the first one after the leaf was moved. A proposal made during a write follows the one being
// written.
func (w *writing) moves() bool { return w.moved && !w.busy }

// newWriting begins to write a session.
func (s *Session) newWriting(d dialect.WritingDialect, opt WriteOptions) *writing {
	if opt.Policy == PolicyBranch && !d.Habits().Branches {
		opt.Policy = PolicyFollow // the format has no branches
	}
	return &writing{d: d, opt: opt, idle: sync.NewCond(&s.mu)}
}

// enqueue has proposals written, by this goroutine or another one, and returns the result of the last. A batch is the whole queue, so
// proposals that are queued together are in one batch, and it is enough to wait for the first.
func (s *Session) enqueue(group ...*proposal) (Appended, error) {
	w := s.w
	first, last := group[0], group[len(group)-1]
	w.queue = append(w.queue, group...)
	if w.busy {
		turn := make(chan struct{})
		first.turn = turn
		s.mu.Unlock()
		<-turn
		s.mu.Lock()
		if first.done {
			return last.result, last.err
		}
	}
	s.lead()
	return last.result, last.err
}

// lead writes all that is queued as one batch. The lock is released during the write, so that more can be proposed meanwhile. Group commit:
// the first waiter becomes the next leader.
func (s *Session) lead() {
	w := s.w
	w.busy = true
	w.batch, w.queue, w.spare = w.queue, w.spare[:0], nil // two slices take turns
	if err := s.commit(w.batch); err != nil {
		s.fail(w.batch, err)
	}
	clear(w.batch)
	w.batch, w.spare = nil, w.batch[:0]
	if len(w.queue) > 0 {
		w.queue[0].wake() // busy stays set until it leads
		return
	}
	w.busy = false
	w.tip = s.tree.LeafID() // after a failure the tip may name an entry that was never written
	w.idle.Broadcast()
}

// fail ends a batch that was not written. Proposals made meanwhile follow its entries, and fail too.
func (s *Session) fail(batch []*proposal, err error) {
	var cancelled *cancelledError
	if errors.As(err, &cancelled) && s.skip(batch[0]) == nil { // only a batch of one can be cancelled
		finish(batch, cancelled.cause)
		return
	}
	finish(batch, err)
	finish(s.w.queue, err)
	s.w.queue = nil
}

// finish tells the appenders what became of their entries.
func finish(batch []*proposal, err error) {
	for _, p := range batch {
		p.err, p.done = err, true
		p.wake()
	}
}

// wake lets the appender of a proposal go on.
func (p *proposal) wake() {
	if p.turn != nil {
		close(p.turn)
		p.turn = nil
	}
}

// cancelledError says that an append was cancelled before anything was written.
type cancelledError struct{ cause error }

func (e *cancelledError) Error() string { return e.cause.Error() }

// skip removes a cancelled entry: what was proposed after it follows the entry before it.
func (s *Session) skip(gone *proposal) error {
	w := s.w
	for _, q := range w.queue {
		if q.entry.Parent == gone.entry.ID {
			q.entry.Parent, q.moved = gone.entry.Parent, gone.moved
			if err := s.encode(q); err != nil {
				return err
			}
		}
	}
	if w.tip == gone.entry.ID {
		w.tip = gone.entry.Parent
	}
	return nil
}

// writable returns the writing state, or why the session cannot be written.
func (s *Session) writable() (*writing, error) {
	switch {
	case s.closed:
		return nil, s.named(ErrClosed)
	case s.w == nil:
		return nil, s.named(ErrReadOnly)
	case s.w.err != nil:
		return nil, s.w.err
	}
	return s.w, nil
}

// settled is writable for changes of more than the end of the log: it waits until all proposals are written.
func (s *Session) settled() (*writing, error) {
	for s.w != nil && s.w.busy {
		s.w.idle.Wait()
	}
	return s.writable()
}

// latch keeps the first error of a write, and logs it once. ErrLocked and ErrHeld are not kept: nothing was written, and the write may be
// tried again.
func (s *Session) latch(err error) error {
	if (errors.Is(err, backend.ErrLocked) || errors.Is(err, backend.ErrHeld)) && s.w.err == nil {
		return s.named(err)
	}
	if s.w.err == nil {
		s.w.err = s.named(err)
		s.w.opt.Log.Error("session could not be written; open it again to go on", "file", s.at.Path, "error", err)
	}
	return s.w.err
}

// named puts the session's path before an error.
func (s *Session) named(err error) error { return logtree.Named(s.at.Path, err) }
