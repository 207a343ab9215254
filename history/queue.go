package history

import (
	"context"
	"sync"
)

// queue is what was added and is not yet written, and the goroutine that writes it. It has no bound: whoever adds never
// waits, and people do not type faster than a disk writes.
type queue struct {
	write func([]Prompt) error
	done  chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex
	more    sync.Cond // something was added, or the end has come
	waiting []Prompt
	added   int           // since the beginning
	settled int           // of these, those that were written or could not be
	moved   chan struct{} // closed, and made anew, when settled changes
	err     error         // the first failed write; it stays
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

// run writes all that is waiting as one batch, again and again, until the queue is closed and empty. After an error
// nothing more is written: what follows would stand behind a gap that nobody sees.
func (q *queue) run() {
	defer close(q.done)
	q.mu.Lock()
	// Not held while it is written: whoever adds meanwhile does not wait for the disk.
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

// flush waits until all that was added before the call is written, or cannot be: others may go on adding, and are not
// waited for.
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

// close has what is waiting written and waits for that, however long it takes. It may be called again.
func (q *queue) close() error {
	q.mu.Lock()
	q.closed = true
	q.more.Signal()
	q.mu.Unlock()
	<-q.done
	// The goroutine has ended: nobody writes it any more.
	return q.err
}
