package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/treeline-dev/treeline/backend"
)

// queue has the appends that wait for a connection. An append that finds fewer than most flights starts one; otherwise it
// leaves with the next flight that returns, together with the others that wait: they share a round trip and a commit.
type queue struct {
	most int

	mu      sync.Mutex
	flights int
	waiting []*pending
}

// pending is an append on its way.
type pending struct {
	b    *Backend // whose append it is
	ctx  context.Context
	at   backend.Log
	more []byte
	m    *mutation

	done chan struct{} // closed when now and err are set
	now  backend.Log
	err  error
}

const (
	batchAppends = 64
	batchBytes   = inline
)

// Append implements backend.Backend. If ctx ends while the append is on its way, it is not waited for, and its outcome is
// unknown.
func (b *Backend) Append(ctx context.Context, at backend.Log, records ...[]byte) (backend.Log, error) {
	more, err := b.encode(ctx, at.Name, records)
	if err != nil {
		return backend.Log{}, err
	}
	if !backend.IsText(at.Name) {
		return backend.Log{}, fmt.Errorf("%s: %w: only a log of lines can be appended to", at.Name, backend.ErrRecord)
	}
	if len(records) == 0 {
		return b.same(ctx, at)
	}
	op := &pending{b: b, ctx: ctx, at: at, more: more, m: b.appending(at, more, false), done: make(chan struct{})}
	b.queue.mu.Lock()
	b.queue.waiting = append(b.queue.waiting, op)
	start := b.queue.flights < b.queue.most
	if start {
		b.queue.flights++
	}
	b.queue.mu.Unlock()
	if start {
		go b.fly()
	}
	select {
	case <-op.done:
		return op.now, op.err
	case <-ctx.Done():
		return backend.Log{}, context.Cause(ctx)
	case <-b.ctx.Done():
		return backend.Log{}, backend.ErrClosed
	}
}

// appending is the mutation that appends. torn says that the last line is unterminated.
func (b *Backend) appending(at backend.Log, more []byte, torn bool) *mutation {
	generation, n := token(at), int64(len(more))
	return &mutation{sql: sqlAppend, name: at.Name, log: b.key(at.Name), body: newContent(more, at.Name), base: at.Size,
		generation: generation, size: at.Size + n, args: []any{generation, at.Size, n, b.opt.Writer, torn}}
}

// same is an append of nothing: it compares.
func (b *Backend) same(ctx context.Context, at backend.Log) (backend.Log, error) {
	r, err := b.current(ctx, at.Name)
	if errors.Is(err, backend.ErrNotExist) || err == nil && (r.generation != token(at) || r.size != at.Size) {
		err = fmt.Errorf("%s: %w", at.Name, backend.ErrConflict)
	}
	if err != nil {
		return backend.Log{}, err
	}
	return r.log(at.Name), nil
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

// take takes the appends for one flight. If there are none, the flight is over.
func (q *queue) take() (batch []*pending) {
	q.mu.Lock()
	defer q.mu.Unlock()
	size := 0
	for len(q.waiting) > 0 && len(batch) < batchAppends && (size == 0 || size+len(q.waiting[0].more) <= batchBytes) {
		op := q.waiting[0]
		q.waiting[0], q.waiting = nil, q.waiting[1:]
		if op.ctx.Err() != nil {
			op.err = context.Cause(op.ctx)
			close(op.done)
			continue
		}
		size += len(op.more)
		batch = append(batch, op)
	}
	if len(batch) == 0 {
		q.flights--
	}
	return batch
}

// send does the appends of one flight.
func (c *core) send(batch []*pending) {
	sent := false
	if len(batch) > 1 {
		// In the order of their keys, so that two flights do not wait for each other's rows in a circle.
		slices.SortStableFunc(batch, func(x, y *pending) int { return bytes.Compare(x.m.log[:], y.m.log[:]) })
		err := c.together(batch)
		sent = err != nil && !pgconn.SafeToRetry(err)
		if err == nil {
			for _, op := range batch {
				c.notices.changed(op.b.prefix + op.at.Name)
			}
		} else {
			for _, op := range batch {
				op.err = errUnmatched // one at a time
			}
		}
	}
	for _, op := range batch {
		if len(batch) == 1 || errors.Is(op.err, errUnmatched) {
			op.now, op.err = op.b.alone(op, sent)
		}
	}
}

// together sends several appends as one transaction. They are done when it has no error.
func (c *core) together(batch []*pending) error {
	return c.db.Once(c.db.Context(), func(p *pgxpool.Pool) error {
		var all pgx.Batch
		for _, op := range batch {
			r, err := op.m.body.rows(op.m.base)
			if err != nil {
				return err
			}
			all.Queue(op.m.sql, op.m.parameters(r)...)
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

// alone does one append. sent says that an earlier attempt may have been executed.
func (b *Backend) alone(op *pending, sent bool) (backend.Log, error) {
	now, err := b.mutate(b.db.Context(), op.m, sent, backend.ErrConflict)
	if !errors.Is(err, backend.ErrConflict) {
		return now, err
	}
	r, e := b.current(b.db.Context(), op.at.Name)
	if e == nil && r.torn && r.generation == token(op.at) && r.size == op.at.Size {
		return b.mend(b.db.Context(), op.at, op.more)
	}
	return backend.Log{}, err
}
