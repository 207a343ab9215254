package pgdb

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
)

// Batch is a list of statements that are sent together: one round trip, and one transaction.
type Batch struct{ queued []*Queued }

// Queued is a statement of a batch.
type Queued struct {
	sql  string
	args []any
	read func(*BatchResults) error
}

// Queue adds a statement.
func (b *Batch) Queue(sql string, args ...any) *Queued {
	q := &Queued{sql: sql, args: args}
	b.queued = append(b.queued, q)
	return q
}

// Exec sets the function that BatchResults.Close calls with the outcome of the statement.
func (q *Queued) Exec(f func(pgconn.CommandTag) error) {
	q.read = func(r *BatchResults) error {
		tag, err := r.Exec()
		if err != nil {
			return err
		}
		return f(tag)
	}
}

// Query sets the function that BatchResults.Close calls with the rows of the statement.
func (q *Queued) Query(f func(*Rows) error) {
	q.read = func(r *BatchResults) error {
		rows, err := r.Query()
		if err != nil {
			return err
		}
		err = f(rows)
		rows.Close()
		if err != nil {
			return err
		}
		return rows.Err()
	}
}

// QueryRow sets the function that BatchResults.Close calls with the row of the statement.
func (q *Queued) QueryRow(f func(Row) error) {
	q.read = func(r *BatchResults) error { return f(r.QueryRow()) }
}

// Len returns the number of statements.
func (b *Batch) Len() int { return len(b.queued) }

// BatchResults are the answers to a batch, in the order of its statements. They hold a connection until they are closed.
type BatchResults struct {
	b       *Batch
	c       *conn
	ctx     context.Context
	results *pgconn.MultiResultReader
	release func()
	at      int
	err     error
	closed  bool
}

// batch sends a batch. Before that it describes the statements that the connection does not know.
func (c *conn) batch(ctx context.Context, release func(), b *Batch) *BatchResults {
	r := &BatchResults{b: b, c: c, ctx: ctx, release: release}
	if r.err = c.room(ctx); r.err != nil {
		return r
	}
	var all pgconn.Batch
	for _, q := range b.queued {
		s, err := c.describe(ctx, q.sql)
		var values [][]byte
		if err == nil {
			values, err = s.encode(q.args)
		}
		switch {
		case err != nil:
			r.err = err
			return r
		case c.named:
			all.ExecStatement(s.StatementDescription, values, s.parameters, s.columns)
		default:
			all.ExecParams(q.sql, values, s.ParamOIDs, s.parameters, s.columns)
		}
	}
	r.results = c.ExecBatch(ctx, &all)
	return r
}

var errNoResult = errors.New("the batch has no further statement")

// Query returns the rows of the next statement. They are closed before the next statement's rows are read.
func (r *BatchResults) Query() (*Rows, error) {
	if r.err != nil {
		return nil, r.err
	}
	if r.closed || r.at == len(r.b.queued) {
		return nil, errNoResult
	}
	r.at++
	if !r.results.NextResult() {
		if r.err = r.results.Close(); r.err == nil {
			r.err = errNoResult
		}
		return nil, r.err
	}
	return &Rows{ctx: r.ctx, sql: r.b.queued[r.at-1].sql, result: r.results.ResultReader(), release: func() {}}, nil
}

// QueryRow returns the row of the next statement.
func (r *BatchResults) QueryRow() Row {
	rows, err := r.Query()
	return one{rows, err}
}

// Exec reads the answer to the next statement.
func (r *BatchResults) Exec() (pgconn.CommandTag, error) {
	rows, err := r.Query()
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	rows.Close()
	return rows.tag, rows.err
}

// Close reads the remaining answers, and ends the batch: it is committed if there is no error. A second call returns the same.
func (r *BatchResults) Close() error {
	if r.closed {
		return r.err
	}
	for r.err == nil && r.at < len(r.b.queued) {
		if read := r.b.queued[r.at].read; read != nil {
			r.err = read(r)
		} else {
			_, r.err = r.Exec()
		}
	}
	r.closed = true
	if r.results != nil {
		if err := r.results.Close(); r.err == nil {
			r.err = err
		}
	}
	if stale(r.err) {
		for _, q := range r.b.queued {
			_ = r.c.forget(r.ctx, q.sql) // as in Rows.Close
		}
	}
	r.release()
	return r.err
}
