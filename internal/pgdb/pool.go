package pgdb

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Pool is connections to a database, made when they are needed. Its methods may be called from several goroutines at once.
type Pool struct {
	config *pgconn.Config
	limits limits
	named  func() bool   // reports whether the server keeps statements under names
	slots  chan struct{} // one per possible connection; a caller holds one while it has a connection

	done chan struct{} // closed by close

	mu     sync.Mutex
	idle   []*conn // the most recently used one is at the end
	resets int
	closed bool
	timer  *time.Timer // closes connections that have been idle for long
}

// limits are the number of connections, and their lifetimes.
type limits struct {
	conns          int
	lifetime, idle time.Duration
}

// checkAfter is how long an idle connection is reused without a ping.
const checkAfter = time.Second

func newPool(config *pgconn.Config, l limits, named func() bool) *Pool {
	return &Pool{config: config, limits: l, named: named, slots: make(chan struct{}, l.conns), done: make(chan struct{})}
}

// acquire returns a connection, which release takes back.
func (p *Pool) acquire(ctx context.Context) (*conn, error) {
	select {
	case p.slots <- struct{}{}:
	case <-p.done:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	for {
		c, err := p.take(ctx)
		if err != nil {
			<-p.slots
			return nil, err
		}
		if c == nil {
			break
		}
		if time.Since(c.used) < checkAfter || c.Ping(ctx) == nil {
			return c, nil
		}
		c.end()
	}
	p.mu.Lock()
	age := p.resets
	p.mu.Unlock()
	pg, err := pgconn.ConnectConfig(ctx, p.config)
	if err != nil {
		<-p.slots
		return nil, err
	}
	return &conn{PgConn: pg, named: p.named(), statements: map[string]*statement{}, made: time.Now(), age: age}, nil
}

// take takes an idle connection; nil if there is none. Once ctx has ended it takes none: the ping would fail, and the connection be closed.
func (p *Pool) take(ctx context.Context) (*conn, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	last := len(p.idle) - 1
	if last < 0 {
		return nil, nil
	}
	c := p.idle[last]
	p.idle[last], p.idle = nil, p.idle[:last]
	return c, nil
}

// release takes a connection back. One that is broken, in a transaction, or too old is closed.
func (p *Pool) release(c *conn) {
	defer func() { <-p.slots }()
	c.used = time.Now()
	usable := !c.IsClosed() && !c.IsBusy() && c.TxStatus() == 'I' && c.used.Sub(c.made) < p.limits.lifetime && c.named == p.named()
	p.mu.Lock()
	if usable = usable && c.age == p.resets && !p.closed; usable {
		p.idle = append(p.idle, c)
		if p.timer == nil {
			p.timer = time.AfterFunc(p.limits.idle, p.expire)
		}
	}
	p.mu.Unlock()
	if !usable {
		c.end()
	}
}

// expire closes the connections that have been idle for long.
func (p *Pool) expire() {
	p.mu.Lock()
	n := 0
	for n < len(p.idle) && time.Since(p.idle[n].used) >= p.limits.idle {
		n++
	}
	old := p.idle[:n:n]
	p.idle = append([]*conn(nil), p.idle[n:]...)
	if p.timer = nil; len(p.idle) > 0 && !p.closed {
		p.timer = time.AfterFunc(p.limits.idle-time.Since(p.idle[0].used), p.expire)
	}
	p.mu.Unlock()
	for _, c := range old {
		c.end()
	}
}

// Reset closes all connections: the idle ones now, the others when they are released.
func (p *Pool) Reset() {
	p.mu.Lock()
	p.resets++
	old := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, c := range old {
		c.end()
	}
}

// close closes the connections, after all were released.
func (p *Pool) close() {
	p.mu.Lock()
	p.closed = true
	close(p.done)
	if p.timer != nil {
		p.timer.Stop()
	}
	p.mu.Unlock()
	p.Reset()
	for range cap(p.slots) {
		p.slots <- struct{}{}
	}
}

// Query sends a query for rows.
func (p *Pool) Query(ctx context.Context, sql string, args ...any) (*Rows, error) {
	c, err := p.acquire(ctx)
	if err != nil {
		return nil, err
	}
	return c.query(ctx, func() { p.release(c) }, sql, args)
}

// QueryRow sends a query for one row. Scan returns its error.
func (p *Pool) QueryRow(ctx context.Context, sql string, args ...any) Row {
	rows, err := p.Query(ctx, sql, args...)
	return one{rows, err}
}

// Exec executes a statement; without arguments it may be several.
func (p *Pool) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	c, err := p.acquire(ctx)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	defer p.release(c)
	return c.execute(ctx, sql, args)
}

// Begin begins a transaction.
func (p *Pool) Begin(ctx context.Context) (*Tx, error) { return p.begin(ctx, "begin") }

func (p *Pool) begin(ctx context.Context, sql string) (*Tx, error) {
	c, err := p.acquire(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := c.exec(ctx, sql); err != nil {
		p.release(c)
		return nil, err
	}
	return &Tx{c: c, release: func() { p.release(c) }}, nil
}

// SendBatch sends several statements at once.
func (p *Pool) SendBatch(ctx context.Context, b *Batch) *BatchResults {
	c, err := p.acquire(ctx)
	if err != nil {
		return &BatchResults{b: b, ctx: ctx, release: func() {}, err: err}
	}
	return c.batch(ctx, func() { p.release(c) }, b)
}
