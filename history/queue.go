package history

import (
	"context"
	"sync"
)

// queue has the prompts that were added and not yet written, and the goroutine that writes them. It is unbounded, since
// people type more slowly than disks write.
type queue struct {
	write func([]Prompt) error
	done  chan struct{} // closed when the goroutine ends

	mu      sync.Mutex
	more    sync.Cond // something was added, or the queue was closed
	waiting []Prompt
	added   int           // total
	settled int           // number of these that were written or failed
	moved   chan struct{} // closed and replaced when settled changes
	err     error         // the error of the first write that failed
	closed  bool
}

func newQueue(write func([]Prompt) error) *queue {
	q := &queue{write: write, done: make(chan struct{}), moved: make(chan struct{})}
	q.more.L = &q.mu
	go q.run()
	return q
}

func (q *queue) add(p Prompt) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.err != nil:
		return q.err
	case q.closed:
		return ErrClosed
	}
	q.waiting = append(q.waiting, p)
	q.added++
	q.more.Signal()
	return nil
}

// run writes everything that waits as one batch, until the queue is closed and empty. After an error it writes nothing more, since that
// would leave an invisible gap.
func (q *queue) run() {
	defer close(q.done)
	q.mu.Lock()
	// Released during a write, so that add never waits for the disk.
	defer q.mu.Unlock()
	for {
		for len(q.waiting) == 0 && !q.closed {
			q.more.Wait()
		}
		if len(q.waiting) == 0 {
			return
		}
		batch := q.waiting
		q.waiting = nil
		if q.err == nil {
			q.mu.Unlock()
			err := q.write(batch)
			q.mu.Lock()
			q.err = err
		}
		q.settled += len(batch)
		close(q.moved)
		q.moved = make(chan struct{})
	}
}

// flush waits until everything added before the call is written or failed. It does not wait for later prompts.
func (q *queue) flush(ctx context.Context) error {
	q.mu.Lock()
	want := q.added
	for {
		err, settled, moved := q.err, q.settled >= want, q.moved
		q.mu.Unlock()
		if err != nil || settled {
			return err
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		q.mu.Lock()
	}
}

// close waits until everything is written. It may be called twice.
func (q *queue) close() error {
	q.mu.Lock()
	q.closed = true
	q.more.Signal()
	q.mu.Unlock()
	<-q.done
	// The goroutine has ended, so no lock is needed.
	return q.err
}
