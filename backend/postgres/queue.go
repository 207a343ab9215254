package postgres

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/treeline-dev/treeline/backend"
)

// queue has the mutations that wait for a connection. One that finds fewer than most flights is a flight of its own; otherwise it
// leaves with the next flight that returns, together with the others that wait: they share a round trip and a commit.
type queue struct {
	most int

	mu      sync.Mutex
	flights int
	waiting []*pending
}

// pending is a mutation on its way.
type pending struct {
	b   *Backend // whose mutation it is
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

// do runs a mutation, together with others if it is small. Its content must stay valid then: if ctx ends while it is on its way, it
// is not waited for, and its outcome is unknown.
func (b *Backend) do(ctx context.Context, m *mutation, unmatched error) (backend.Log, error) {
	if m.large() {
		return b.mutate(ctx, m, false, unmatched)
	}
	b.queue.mu.Lock()
	if b.queue.flights < b.queue.most {
		b.queue.flights++
		b.queue.mu.Unlock()
		defer b.next()
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(b.ctx, func() { cancel(backend.ErrClosed) })()
		return b.mutate(ctx, m, false, unmatched)
	}
	op := &pending{b: b, ctx: ctx, m: m, unmatched: unmatched, done: make(chan struct{})}
	b.queue.waiting = append(b.queue.waiting, op)
	b.queue.mu.Unlock()
	select {
	case <-op.done:
		return op.now, op.err
	case <-ctx.Done():
		return backend.Log{}, context.Cause(ctx)
	case <-b.ctx.Done():
		return backend.Log{}, backend.ErrClosed
	}
}

// next ends a flight, or goes on with what waits.
func (c *core) next() {
	c.queue.mu.Lock()
	defer c.queue.mu.Unlock()
	if len(c.queue.waiting) > 0 {
		go c.fly()
	} else {
		c.queue.flights--
	}
}

// fly sends what waits until nothing does.
func (c *core) fly() {
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

// take takes the mutations for one flight. If there are none, the flight is over.
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
		q.flights--
	}
	return batch
}

// send does the mutations of one flight.
func (c *core) send(batch []*pending) {
	sent := false
	if len(batch) > 1 {
		// In the order of their keys, so that two flights do not wait for each other's rows in a circle.
		slices.SortStableFunc(batch, func(x, y *pending) int { return bytes.Compare(x.m.log[:], y.m.log[:]) })
		err := c.together(batch)
		sent = err != nil && !pgconn.SafeToRetry(err)
		for _, op := range batch {
			if err != nil {
				op.err = errUnmatched // one at a time
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

// together sends several mutations as one transaction. They are done when it has no error.
func (c *core) together(batch []*pending) error {
	return c.db.Once(c.db.Context(), func(p *pgxpool.Pool) error {
		var all pgx.Batch
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
