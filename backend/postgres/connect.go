package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/treeline-dev/treeline/backend"
)

// link is what is known of the database after the first connection.
type link struct {
	pool *pgxpool.Pool
	// direct: no pooler is between us and the server.
	direct bool
	// there: it has our schema. Otherwise it is a place without logs.
	there bool
}

// connect connects if that was not done yet. For a write it also makes the schema. While there is none, it looks again each time:
// another process may have made it.
func (b *Backend) connect(ctx context.Context, write bool) (*link, error) {
	if l := b.link.Load(); l != nil && l.there {
		return l, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.link.Load()
	if l != nil && l.there {
		return l, nil
	}
	if b.closed.Load() {
		return nil, backend.ErrClosed
	}
	if b.pool == nil {
		var err error
		if b.pool, err = b.newPool(); err != nil {
			return nil, err
		}
	}
	c, err := b.pool.Acquire(ctx)
	if err != nil {
		return nil, b.plain(ctx, err)
	}
	defer c.Release()
	next, err := b.look(ctx, c.Conn(), write)
	if err != nil {
		return nil, b.plain(ctx, err)
	}
	if !next.direct && !b.pooled.Swap(true) && !b.mode {
		_ = c.Conn().Close(ctx) // its mode of statements does not work behind a pooler
	}
	b.link.Store(next)
	return next, nil
}

// look asks a connection what it leads to.
func (b *Backend) look(ctx context.Context, c *pgx.Conn, write bool) (*link, error) {
	var pid uint32
	if err := c.QueryRow(ctx, "select pg_backend_pid()", pgx.QueryExecModeExec).Scan(&pid); err != nil {
		return nil, err
	}
	version, err := schemaVersion(ctx, c)
	if err == nil && version < newest && write {
		version, err = migrate(ctx, c, newest)
	}
	if err == nil && version > 0 && version < newest {
		err = fmt.Errorf("%w: the database has version %d, this program needs %d, and a reader does not change it", ErrSchema, version, newest)
	}
	// A pooler has process numbers of its own.
	return &link{pool: b.pool, direct: pid == c.PgConn().PID(), there: version > 0}, err
}

// newPool makes the pool. Connections keep prepared statements until one was found to lead to a pooler.
func (b *Backend) newPool() (*pgxpool.Pool, error) {
	config := b.config.Copy()
	config.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		if b.pooled.Load() && !b.mode {
			c.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
		}
		return nil
	}
	return pgxpool.NewWithConfig(b.ctx, config)
}

// try is one attempt at something. again is set if an earlier one may have been executed.
type try func(p *pgxpool.Pool, again bool) error

// write does something that changes the database. It makes the schema if need be. After a lost connection it tries again.
func (b *Backend) write(ctx context.Context, do try) error { return b.persist(ctx, true, do) }

// read does something that only reads. If the database has no schema, it does nothing and returns errEmpty.
func (b *Backend) read(ctx context.Context, do func(p *pgxpool.Pool) error) error {
	return b.persist(ctx, false, func(p *pgxpool.Pool, _ bool) error { return do(p) })
}

// errEmpty: the database has no schema, so there are no logs.
var errEmpty = errors.New("no schema")

func (b *Backend) persist(ctx context.Context, write bool, do try) error {
	var deadline time.Time
	pause, sent := 10*time.Millisecond, false
	for {
		l, err := b.connect(ctx, write)
		if err == nil && !l.there && !write {
			return errEmpty
		}
		if err == nil {
			err = do(l.pool, sent)
		}
		known := b.link.Load() // nil: the server was never reached, so the address may be wrong
		if err == nil || known == nil || !lost(err) || ctx.Err() != nil || b.closed.Load() {
			return b.plain(ctx, err)
		}
		sent = sent || !pgconn.SafeToRetry(err)
		if deadline.IsZero() {
			deadline = time.Now().Add(b.wait)
		} else if time.Now().After(deadline) {
			return b.plain(ctx, err)
		}
		known.pool.Reset() // the other connections are lost too
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-b.ctx.Done():
			return backend.ErrClosed
		case <-time.After(pause):
			pause = min(2*pause, 500*time.Millisecond)
		}
	}
}

// lost reports whether another attempt can succeed: the connection broke, the server stops or starts, or it aborted the
// transaction because of another one.
func lost(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		switch pg.Code {
		case "57P01", "57P02", "57P03", // the server stops, has crashed, or starts
			"53300",          // too many connections
			"40001", "40P01": // serialization, deadlock
			return true
		}
		return pg.Code[:2] == "08" // connection exceptions; pgbouncer's own errors are of this class
	}
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connect) || errors.As(err, &network) || pgconn.SafeToRetry(err) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}

// plain says what an error of the database means for a caller.
func (b *Backend) plain(ctx context.Context, err error) error {
	var pg *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case b.closed.Load():
		return backend.ErrClosed
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !errors.As(err, &pg):
		return err
	}
	switch pg.Code {
	case "25006":
		return fmt.Errorf("%w: the server is a standby, or its transactions are read-only: %s", backend.ErrReadOnly, pg.Message)
	case "42501":
		return fmt.Errorf("the user %q lacks a right in the database: %w", b.config.ConnConfig.User, err)
	}
	return err
}
