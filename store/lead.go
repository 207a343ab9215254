package store

import "errors"

// lead writes all that is proposed so far as one batch. It lets go of the lock while it writes, so that more can be
// proposed meanwhile; then the first of those leads. There is no goroutine of its own: whoever appends and finds nobody
// writing writes for all. The session's lock is held on both ends.
func (s *Session) lead() {
	w := s.w
	w.busy = true
	batch := w.queue
	// Two slices take turns, so that a queue needs no new memory.
	w.batch, w.queue, w.spare = batch, w.spare[:0], nil
	err := s.commit(batch)
	if err != nil {
		s.fail(batch, err)
	}
	// The proposals are not kept alive; their appenders have them.
	clear(batch)
	w.batch, w.spare = nil, batch[:0]
	if len(w.queue) > 0 {
		// busy stays set until he leads: who comes meanwhile queues up behind him.
		w.queue[0].wake()
		return
	}
	w.busy = false
	// After a failure the tip may name an entry that was never written.
	w.tip = s.tree.LeafID()
	w.idle.Broadcast()
}

// fail ends a batch that was not written.
func (s *Session) fail(batch []*proposal, err error) {
	var givenUp *givenUpError
	// Only a batch of one can be given up: see commit. What was proposed behind it need not fail.
	if errors.As(err, &givenUp) && s.skip(batch[0]) == nil {
		s.finish(batch, givenUp.cause)
		return
	}
	// What was proposed meanwhile hangs on what failed: it fails too.
	s.finish(batch, err)
	s.finish(s.w.queue, err)
	s.w.queue = nil
}

// finish tells the appenders what became of their entries.
func (s *Session) finish(batch []*proposal, err error) {
	for _, p := range batch {
		p.err, p.done = err, true
		p.wake()
	}
}

// wake tells whoever waits with the proposal that he can go on.
func (p *proposal) wake() {
	if p.turn != nil {
		close(p.turn)
		p.turn = nil
	}
}

// givenUpError says that whoever wanted an entry does not want it any more, and that nothing was written.
type givenUpError struct{ cause error }

func (e *givenUpError) Error() string { return e.cause.Error() }

// skip hangs what was proposed behind an entry that was given up on the one before it.
func (s *Session) skip(gone *proposal) error {
	w := s.w
	for _, q := range w.queue {
		if q.entry.Parent == gone.entry.ID {
			q.entry.Parent = gone.entry.Parent
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
