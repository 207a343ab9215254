package file

import (
	"context"
	"sync/atomic"
)

// turn is a lock that can be waited for with a context. A channel would do, but it costs more than the rest of an append
// that nobody else gets in the way of.
type turn struct {
	taken   atomic.Bool
	waiting atomic.Int32
	free    chan struct{} // wakes one of those who wait; that it was in vain does no harm
}

func newTurn() turn { return turn{free: make(chan struct{}, 1)} }

// take returns when the caller has the turn, or the cause for which ctx ended before that.
func (t *turn) take(ctx context.Context) error {
	if t.waiting.Load() == 0 && t.taken.CompareAndSwap(false, true) {
		return nil
	}
	// Counted before the next look: who gives the turn back either sees that somebody waits, or did so before the look.
	t.waiting.Add(1)
	defer t.waiting.Add(-1)
	for !t.taken.CompareAndSwap(false, true) {
		select {
		case <-t.free:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// give gives the turn back.
func (t *turn) give() {
	t.taken.Store(false)
	if t.waiting.Load() > 0 {
		select {
		case t.free <- struct{}{}:
		default: // somebody is being woken already
		}
	}
}
