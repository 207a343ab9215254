package pgdb

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// link is what the first connection found out about the database.
type link struct {
	pool *Pool
	// direct: no pooler is between us and the server.
	direct bool
	// there: the database has the schema.
	there bool
}

// connect connects on the first call. For a write it also makes the schema. While there is none, it checks each time: another process may
// have made it.
func (d *DB) connect(ctx context.Context, write bool) (*link, error) {
	if l := d.link.Load(); l != nil && l.there {
		return l, nil
	}
	select {
	case d.gate <- struct{}{}:
		defer func() { <-d.gate }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if l := d.link.Load(); l != nil && l.there {
		return l, nil
	}
	if d.ctx.Err() != nil {
		return nil, ErrClosed
	}
	if d.pool == nil {
		d.pool = newPool(d.config, d.limits, d.named)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(d.ctx, cancel)() // Close waits for this
	c, err := d.pool.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer d.pool.release(c) // release closes it if its statements have names and there is a pooler, with which that does not work
	d.reached.Store(d.pool)
	next, err := d.look(ctx, c, write)
	if err != nil {
		return nil, err
	}
	if !next.direct {
		d.pooled.Store(true)
	}
	d.link.Store(next)
	return next, nil
}

// look finds out from a connection what kind of server it leads to.
func (d *DB) look(ctx context.Context, c *conn, write bool) (*link, error) {
	var pid uint32
	if err := c.plainly(ctx, "select pg_backend_pid()").Scan(&pid); err != nil {
		return nil, err
	}
	there, err := d.schema.ready(ctx, c, write)
	// A pooler has process numbers of its own.
	return &link{pool: d.pool, direct: pid == c.PID(), there: there}, err
}

// named reports whether connections keep statements under names: unless the URL decides, they do until one was found to lead to a pooler.
func (d *DB) named() bool {
	if d.mode != modeUnsaid {
		return d.mode == modeNamed
	}
	return !d.pooled.Load()
}

// Direct reports whether the server was reached without a pooler, so that LISTEN works.
func (d *DB) Direct() bool {
	l := d.link.Load()
	return l != nil && l.direct
}

// Reached returns the pool if the server was reached before, else nil.
func (d *DB) Reached() *Pool { return d.reached.Load() }

// Write runs an operation that changes the database. It makes the schema if necessary. After a lost connection it runs it again; again is
// set if an earlier attempt may have been executed.
func (d *DB) Write(ctx context.Context, do func(p *Pool, again bool) error) error {
	return d.persist(ctx, true, do)
}

// Read runs an operation that only reads, and runs it again after a lost connection. If the database has no schema, it does nothing and
// returns ErrEmpty.
func (d *DB) Read(ctx context.Context, do func(p *Pool) error) error {
	return d.persist(ctx, false, func(p *Pool, _ bool) error { return do(p) })
}

// Once is Write without retries, for a caller that has its own.
func (d *DB) Once(ctx context.Context, do func(p *Pool) error) error {
	l, err := d.connect(ctx, true)
	if err == nil {
		err = do(l.pool)
	}
	return d.plain(ctx, err)
}

func (d *DB) persist(ctx context.Context, write bool, do func(p *Pool, again bool) error) error {
	var deadline time.Time
	pause, sent := 10*time.Millisecond, false
	for {
		l, err := d.connect(ctx, write)
		if err == nil && !l.there && !write {
			return ErrEmpty
		}
		if err == nil {
			err = do(l.pool, sent)
		}
		known := d.Reached() // nil: it was never reached, so the address may be wrong
		if err == nil || known == nil || !lost(err) || ctx.Err() != nil || d.ctx.Err() != nil {
			return d.plain(ctx, err)
		}
		sent = sent || !pgconn.SafeToRetry(err)
		if deadline.IsZero() {
			deadline = time.Now().Add(d.patience)
		} else if time.Now().After(deadline) {
			return d.plain(ctx, err)
		}
		known.Reset() // the other connections are lost too
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-d.ctx.Done():
			return ErrClosed
		case <-time.After(pause):
			pause = min(2*pause, 500*time.Millisecond)
		}
	}
}

// Listen calls heard with the payload of each notice of a channel, on a connection of its own, until the connection is lost or ctx ends. It
// calls ready when it is listening. Behind a pooler there are no notices.
func (d *DB) Listen(ctx context.Context, channel string, ready func(), heard func(payload string)) error {
	config := d.config.Copy()
	config.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) { heard(n.Payload) }
	pg, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return d.plain(ctx, err)
	}
	defer func() { _ = pg.Close(context.WithoutCancel(ctx)) }()
	if _, err := (&conn{PgConn: pg}).exec(ctx, "listen "+Identifier{channel}.Sanitize()); err != nil {
		return d.plain(ctx, err)
	}
	ready()
	for {
		if err := pg.WaitForNotification(ctx); err != nil {
			return d.plain(ctx, err)
		}
	}
}
