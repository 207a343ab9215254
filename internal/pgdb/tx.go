package pgdb

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Beginner is a pool, or a transaction that another one can be a part of.
type Beginner interface {
	Begin(ctx context.Context) (*Tx, error)
}

// Tx is a transaction. It has a connection until Commit or Rollback, and is used by one goroutine at a time.
type Tx struct {
	c       *conn
	release func()
	inner   bool // a part of another transaction, a savepoint
	over    bool
}

// BeginFunc runs do as a transaction, which is committed if do returns no error.
func BeginFunc(ctx context.Context, b Beginner, do func(*Tx) error) error {
	tx, err := b.Begin(ctx)
	if err != nil {
		return err
	}
	return tx.do(ctx, do)
}

// Snapshot runs do as a read-only transaction that sees one state of the database.
func (p *Pool) Snapshot(ctx context.Context, do func(*Tx) error) error {
	tx, err := p.begin(ctx, "begin isolation level repeatable read read only")
	if err != nil {
		return err
	}
	return tx.do(ctx, do)
}

func (t *Tx) do(ctx context.Context, do func(*Tx) error) error {
	defer func() { _ = t.Rollback(ctx) }() // nothing to do after the commit
	if err := do(t); err != nil {
		return err
	}
	return t.Commit(ctx)
}

// Begin begins a part of the transaction, which can be rolled back alone.
func (t *Tx) Begin(ctx context.Context) (*Tx, error) {
	if _, err := t.c.exec(ctx, "savepoint part"); err != nil {
		return nil, err
	}
	return &Tx{c: t.c, release: func() {}, inner: true}, nil
}

// errAborted: the server rolled back instead, because a statement had failed.
var errAborted = errors.New("the server has rolled the transaction back")

// Commit ends the transaction.
func (t *Tx) Commit(ctx context.Context) error {
	sql := "commit"
	if t.inner {
		sql = "release savepoint part"
	}
	t.over = true
	defer t.release()
	tag, err := t.c.exec(ctx, sql)
	if err == nil && tag.String() == "ROLLBACK" {
		err = errAborted
	}
	return err
}

// Rollback ends the transaction without a change. After Commit it does nothing.
func (t *Tx) Rollback(ctx context.Context) error {
	if t.over {
		return nil
	}
	t.over = true
	defer t.release()
	sql := "rollback"
	if t.inner {
		sql = "rollback to savepoint part; release savepoint part"
	}
	_, err := t.c.exec(ctx, sql)
	if err != nil && !t.inner {
		t.c.end() // the server rolls back an open transaction
	}
	return err
}

func (*Tx) still() {}

// Query sends a query for rows.
func (t *Tx) Query(ctx context.Context, sql string, args ...any) (*Rows, error) {
	return t.c.query(ctx, t.still, sql, args)
}

// QueryRow sends a query for one row. Scan returns its error.
func (t *Tx) QueryRow(ctx context.Context, sql string, args ...any) Row {
	rows, err := t.Query(ctx, sql, args...)
	return one{rows, err}
}

// Exec executes a statement.
func (t *Tx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	return t.c.execute(ctx, sql, args)
}

// SendBatch sends several statements at once.
func (t *Tx) SendBatch(ctx context.Context, b *Batch) *BatchResults {
	return t.c.batch(ctx, t.still, b)
}

// CopyFrom inserts rows into a table, much faster than statements do. It returns their number.
func (t *Tx) CopyFrom(ctx context.Context, table Identifier, columns []string, rows CopyFromSource) (int64, error) {
	return t.c.copyFrom(ctx, table, columns, rows)
}

// execute executes a statement. A text without parameters is not prepared: it may have several statements.
func (c *conn) execute(ctx context.Context, sql string, args []any) (pgconn.CommandTag, error) {
	if len(args) == 0 {
		return c.exec(ctx, sql)
	}
	rows, err := c.query(ctx, func() {}, sql, args)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	rows.Close()
	return rows.tag, rows.err
}

// Identifier is the name of a table, preceded by that of its schema.
type Identifier []string

// Sanitize quotes the name.
func (i Identifier) Sanitize() string {
	parts := make([]string, len(i))
	for n, p := range i {
		parts[n] = `"` + strings.ReplaceAll(strings.ReplaceAll(p, "\x00", ""), `"`, `""`) + `"`
	}
	return strings.Join(parts, ".")
}
