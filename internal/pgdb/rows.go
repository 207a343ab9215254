package pgdb

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// ErrNoRows: a query for one row returned none.
var ErrNoRows = errors.New("no row")

// Row is a row of an answer. Scan stores its columns in the variables that the arguments point to: numbers, strings, bool, time.Time,
// []byte (a copy), RawBytes, [16]byte, []string, and pointers to these, which are nil for NULL. A nil argument skips a column.
type Row interface{ Scan(dest ...any) error }

// Rows are an answer, read row by row. They hold a connection until they are closed, or Next has returned false.
type Rows struct {
	ctx     context.Context
	c       *conn
	sql     string
	result  *pgconn.ResultReader
	release func()

	tag    pgconn.CommandTag
	err    error
	closed bool
}

// Next goes to the next row, and reports whether there is one.
func (r *Rows) Next() bool {
	if r.closed {
		return false
	}
	if r.result.NextRow() {
		return true
	}
	r.Close()
	return false
}

// Scan implements Row, for the row that Next went to.
func (r *Rows) Scan(dest ...any) error {
	fields, values := r.result.FieldDescriptions(), r.result.Values()
	if len(dest) != len(values) {
		return fmt.Errorf("the answer has %d columns, and %d are wanted: %s", len(values), len(dest), r.sql)
	}
	for i, d := range dest {
		if err := decode(&fields[i], values[i], d); err != nil {
			return err
		}
	}
	return nil
}

// Close releases the connection. A second call does nothing.
func (r *Rows) Close() {
	if r.closed {
		return
	}
	r.closed = true
	r.tag, r.err = r.result.Close()
	if r.c != nil && stale(r.err) {
		_ = r.c.forget(r.ctx, r.sql) // in a failed transaction the server keeps the statement, under a name that is not reused
	}
	r.release()
}

// Err returns the error that ended the answer.
func (r *Rows) Err() error { return r.err }

// one is the only row of an answer.
type one struct {
	rows *Rows
	err  error
}

// Scan implements Row. It returns ErrNoRows if there is none.
func (o one) Scan(dest ...any) error {
	if o.err != nil {
		return o.err
	}
	defer o.rows.Close()
	if !o.rows.Next() {
		if o.rows.err != nil {
			return o.rows.err
		}
		return ErrNoRows
	}
	if err := o.rows.Scan(dest...); err != nil {
		return err
	}
	o.rows.Close()
	return o.rows.err
}

// ForEachRow reads all rows, each into the variables that dest points to, and calls f after each.
func ForEachRow(rows *Rows, dest []any, f func() error) error {
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		if err := f(); err != nil {
			return err
		}
	}
	return rows.Err()
}

// CollectRows reads all rows, each with one.
func CollectRows[T any](rows *Rows, one func(Row) (T, error)) (list []T, err error) {
	defer rows.Close()
	list = []T{}
	for rows.Next() {
		v, err := one(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, rows.Err()
}

// RowTo reads a row of one column.
func RowTo[T any](row Row) (v T, err error) {
	err = row.Scan(&v)
	return v, err
}
