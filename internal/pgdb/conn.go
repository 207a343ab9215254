package pgdb

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// conn is a connection with its prepared statements. The server describes each statement once: the types of its parameters and columns.
type conn struct {
	*pgconn.PgConn
	// named: the server keeps statements under names. Behind a pooler the next statement may reach another server process, so each is sent
	// with its text.
	named      bool
	statements map[string]*statement
	oldest     []string // their texts, in the order in which they were described
	last       int      // number of the last name

	made, used time.Time
	age        int // how often the pool had been reset when the connection was made
}

// statement is a statement that the server has described.
type statement struct {
	*pgconn.StatementDescription
	parameters, columns []int16 // formats: text or binary
}

// mostStatements is how many statements a connection keeps, between batches. A search is composed of conditions, so there can be many.
const mostStatements = 256

// describe returns the server's description of a statement.
func (c *conn) describe(ctx context.Context, sql string) (*statement, error) {
	if s := c.statements[sql]; s != nil {
		return s, nil
	}
	name := ""
	if c.named {
		c.last++
		name = "treeline_" + strconv.Itoa(c.last)
	}
	d, err := c.Prepare(ctx, name, sql, nil)
	if err != nil {
		return nil, err
	}
	s := &statement{StatementDescription: d}
	for _, oid := range d.ParamOIDs {
		s.parameters = append(s.parameters, form(oid))
	}
	for _, f := range d.Fields {
		s.columns = append(s.columns, form(f.DataTypeOID))
	}
	c.statements[sql] = s
	c.oldest = append(c.oldest, sql)
	return s, nil
}

// room drops the oldest statements if there are too many. It is called when none is about to be sent: the statements of a batch are all
// described before the first one is sent.
func (c *conn) room(ctx context.Context) error {
	for len(c.oldest) >= mostStatements {
		if err := c.forget(ctx, c.oldest[0]); err != nil {
			return err
		}
	}
	return nil
}

// forget drops a statement.
func (c *conn) forget(ctx context.Context, sql string) error {
	s := c.statements[sql]
	delete(c.statements, sql)
	for i, text := range c.oldest {
		if text == sql {
			c.oldest = append(c.oldest[:i:i], c.oldest[i+1:]...)
			break
		}
	}
	if s == nil || !c.named {
		return nil
	}
	return c.Deallocate(ctx, s.Name)
}

// stale reports whether a statement failed because the tables have changed since it was described. Another attempt describes it again.
func stale(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "0A000" || pg.Code == "26000") // its columns changed; the server does not know the statement
}

// encode returns the parameters of a statement in the server's formats. They share one buffer.
func (s *statement) encode(args []any) ([][]byte, error) {
	if len(args) != len(s.ParamOIDs) {
		return nil, fmt.Errorf("the statement has %d parameters, and %d are given: %s", len(s.ParamOIDs), len(args), s.SQL)
	}
	if len(args) == 0 {
		return nil, nil
	}
	values := make([][]byte, len(args))
	ends := make([]int, len(args)) // -1: none
	var buf []byte
	for i, a := range args {
		if b, ok := a.([]byte); ok && b != nil && s.ParamOIDs[i] == typeBytea { // not copied
			values[i] = b
			ends[i] = len(buf)
			continue
		}
		var null bool
		var err error
		if buf, null, err = encode(buf, s.ParamOIDs[i], a); err != nil {
			return nil, fmt.Errorf("parameter %d: %w", i+1, err)
		}
		if ends[i] = len(buf); null {
			ends[i] = -1
		}
	}
	start := 0
	for i, end := range ends {
		if end < 0 {
			continue
		}
		if values[i] == nil {
			values[i] = buf[start:end:end]
			if values[i] == nil {
				values[i] = []byte{}
			}
		}
		start = end
	}
	return values, nil
}

// query sends a statement. release is called when its rows were read or it has failed.
func (c *conn) query(ctx context.Context, release func(), sql string, args []any) (*Rows, error) {
	err := c.room(ctx)
	var s *statement
	if err == nil {
		s, err = c.describe(ctx, sql)
	}
	var values [][]byte
	if err == nil {
		values, err = s.encode(args)
	}
	if err != nil {
		release()
		return nil, err
	}
	r := &Rows{ctx: ctx, c: c, sql: sql, release: release}
	if c.named {
		r.result = c.ExecStatement(ctx, s.StatementDescription, values, s.parameters, s.columns)
	} else {
		r.result = c.ExecParams(ctx, sql, values, s.ParamOIDs, s.parameters, s.columns)
	}
	return r, nil
}

// plainly sends a query for one row. Parameters are sent as text, and nothing is prepared: it is used before the connection knows whether
// there is a pooler.
func (c *conn) plainly(ctx context.Context, sql string, args ...string) Row {
	values := make([][]byte, len(args))
	for i, a := range args {
		values[i] = []byte(a)
	}
	return one{rows: &Rows{ctx: ctx, sql: sql, release: func() {}, result: c.ExecParams(ctx, sql, values, nil, nil, nil)}}
}

// end closes the connection. It tries to tell the server, within a time limit.
func (c *conn) end() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = c.Close(ctx) // the connection is not used any more
}

// exec sends statements without parameters, as one text.
func (c *conn) exec(ctx context.Context, sql string) (tag pgconn.CommandTag, err error) {
	results := c.PgConn.Exec(ctx, sql)
	for results.NextResult() {
		tag, _ = results.ResultReader().Close() // Close of results returns the error
	}
	return tag, results.Close()
}
