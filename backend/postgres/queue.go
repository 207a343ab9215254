package postgres

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/pgdb"
	"github.com/treeline-dev/treeline/internal/sorting"
)

// queue is the group commit. A mutation that finds fewer than most senders is sent at once. Otherwise it waits, and the next sender that
// becomes free takes all waiting mutations as one batch: they share a round trip and a commit.
type queue struct {
	most int

	mu      sync.Mutex
	senders int
	waiting []*pending
}

// pending is a mutation that waits or is being sent.
type pending struct {
	b   *Backend // the Backend of the mutation
	ctx context.Context
	m   *mutation
	// unmatched is the error if the log is not what the caller saw.
	unmatched error

	done chan struct{} // closed when now and err are set
	now  backend.Log
	err  error
}

const (
	batchMutations = 64
	batchBytes     = inline
)

// do runs a mutation, together with others if it is small. Cancelling ctx ends the wait for a sender. If a small mutation or an append is
// already being sent, do waits for it: its outcome must be known.
func (b *Backend) do(ctx context.Context, m *mutation, unmatched error) (backend.Log, error) {
	if err := b.limit(ctx, m); err != nil {
		return backend.Log{}, err
	}
	if m.large() {
		if m.sql == sqlAppend {
			detached, end := b.detached(ctx)
			defer end()
			ctx = detached
		}
		return b.mutate(ctx, m, false, unmatched)
	}
	b.queue.mu.Lock()
	if b.queue.senders < b.queue.most {
		b.queue.senders++
		b.queue.mu.Unlock()
		defer b.next()
		ctx, end := b.detached(ctx)
		defer end()
		return b.mutate(ctx, m, false, unmatched)
	}
	op := &pending{b: b, ctx: ctx, m: m, unmatched: unmatched, done: make(chan struct{})}
	b.queue.waiting = append(b.queue.waiting, op)
	b.queue.mu.Unlock()
	select {
	case <-op.done:
	case <-ctx.Done():
		if b.queue.drop(op) {
			return backend.Log{}, context.Cause(ctx)
		}
	case <-b.ctx.Done():
		b.queue.drop(op) // what is being sent may still be carried out
	}
	select {
	case <-op.done:
		return op.now, op.err
	case <-b.ctx.Done():
		return backend.Log{}, backend.ErrClosed
	}
}

// detached returns a context that does not end with ctx, but with the Backend. end releases it.
func (b *Backend) detached(ctx context.Context) (detached context.Context, end func()) {
	detached, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(b.ctx, func() { cancel(backend.ErrClosed) })
	return detached, func() {
		stop()
		cancel(nil)
	}
}

// drop removes a mutation from the queue. It returns false if the mutation is being sent, or done.
func (q *queue) drop(op *pending) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, op)
	if i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	return i >= 0
}

// next ends a sender, or lets it continue with what waits.
func (c *core) next() {
	c.queue.mu.Lock()
	defer c.queue.mu.Unlock()
	if len(c.queue.waiting) > 0 {
		go c.sendAll()
	} else {
		c.queue.senders--
	}
}

// sendAll sends the queue, batch by batch, until it is empty.
func (c *core) sendAll() {
	for {
		batch := c.queue.take()
		if len(batch) == 0 {
			return
		}
		c.send(batch)
		for _, op := range batch {
			close(op.done)
		}
	}
}

// take returns the mutations of the next batch. If there are none, the sender ends.
func (q *queue) take() (batch []*pending) {
	q.mu.Lock()
	defer q.mu.Unlock()
	size := int64(0)
	for len(q.waiting) > 0 && len(batch) < batchMutations && (size == 0 || size+q.waiting[0].m.body.size <= batchBytes) {
		op := q.waiting[0]
		q.waiting[0], q.waiting = nil, q.waiting[1:]
		if op.ctx.Err() != nil {
			op.err = context.Cause(op.ctx)
			close(op.done)
			continue
		}
		size += op.m.body.size
		batch = append(batch, op)
	}
	if len(batch) == 0 {
		q.senders--
	}
	return batch
}

// send runs the mutations of one batch.
func (c *core) send(batch []*pending) {
	sent := false
	if len(batch) > 1 {
		// In the order of their keys, so that two batches do not wait for each other's rows in a deadlock.
		sorting.By(batch, func(x, y *pending) int { return bytes.Compare(x.m.log[:], y.m.log[:]) })
		err := c.together(batch)
		sent = err != nil && !pgconn.SafeToRetry(err)
		for _, op := range batch {
			if err != nil {
				op.err = errUnmatched // send them one at a time
			} else if op.err == nil {
				op.b.wrote(op.m)
			}
		}
	}
	for _, op := range batch {
		if len(batch) == 1 || errors.Is(op.err, errUnmatched) {
			op.now, op.err = op.b.mutate(c.db.Context(), op.m, sent, op.unmatched)
		}
	}
}

// together sends several mutations as one transaction. They are done if it returns no error.
func (c *core) together(batch []*pending) error {
	return c.db.Once(c.db.Context(), func(p *pgdb.Pool) error {
		var all pgdb.Batch
		for _, op := range batch {
			r, err := op.m.body.rows(op.m.base)
			if err != nil {
				return err
			}
			sql, parameters := op.m.statement(r)
			all.Queue(sql, parameters...)
		}
		results := p.SendBatch(c.db.Context(), &all)
		for _, op := range batch {
			op.now, op.err = op.m.result(results.QueryRow())
			if op.err != nil && !errors.Is(op.err, errUnmatched) {
				_ = results.Close() // the error is the same one
				return op.err
			}
		}
		return results.Close()
	})
}
