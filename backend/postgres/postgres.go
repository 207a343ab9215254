// Package postgres keeps logs in PostgreSQL 15 or newer, for a team with many machines.
//
// The URL is that of pgx, postgres://user@host/db, with several hosts and target_session_attrs if there are standbys. A database
// is an archive (see backend.Driver): a name begins with the origin of the log, so two machines never overwrite each other's
// logs. A Backend is a light view of one folder. All views that one Driver opens at the same URL share connections, the queue of
// mutations and the feed of changes.
//
// # Rows
//
// A log is a row of treeline.log: generation, size, time of the last change. Its records are rows of treeline.record: exact bytes with
// their line ends, at their byte offsets. A record longer than a piece (1 MB) is several rows. Rows are never changed: Replace makes a new
// generation. Old ones are kept for 30 days for readers that hold them; later writes purge them. A removed log leaves a row, a tombstone,
// which keeps the generation counting and is shown by Marks.
//
// # Writing
//
// A mutation is one statement: it changes the row of the log if generation and size are what the caller saw, and inserts the records.
// Mutations that queue while others are under way are sent together, as one transaction. A long one is a transaction of its own, with COPY.
// Every mutation is as durable when it returns as the server's synchronous_commit promises.
//
// If the connection is lost, it is unknown whether the statement was executed. It is sent again to a new connection. If the
// log has changed, its bytes decide: if those at the place of the mutation are the ones that were sent, it has succeeded. Another
// writer that wrote the same bytes at the same place in that moment cannot be told apart.
//
// # Poolers
//
// Every statement is independent: there is no session state, and locks last for one transaction, so it works behind pgbouncer in
// transaction mode. Prepared statements and LISTEN are used only if the connection reaches the server directly.
//
// # Limits
//
// Two processes that create "a" and "a/b" in the same moment may both succeed. Otherwise a log in the place of a folder is
// refused, as in files.
package postgres

import (
	"context"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/pgdb"
)

// Options say how a driver opens databases.
type Options struct {
	// Patience is how long a call tries to reach a server that it had reached before; 0 is 30 seconds.
	Patience time.Duration
	// Clock names torn records that are moved aside; nil is time.Now. All other times are those of the server.
	Clock func() time.Time

	wrap func(*pgconn.Config) // for tests
}

//go:embed migration/*.sql
var migrations embed.FS

// schema is the schema that the database needs.
var schema = pgdb.Schema{Name: "treeline", Files: migrations}

// Driver returns the driver for the scheme postgres.
func Driver(opt Options) backend.Driver {
	all := &cores{opt: opt, open: map[string]*core{}}
	return backend.Driver{Name: "postgres", Scheme: "postgres", Archive: true, Split: pgdb.Split, Shown: pgdb.Shown,
		Open: func(root string, open backend.OpenOptions) (backend.Backend, error) { return all.view(root, open) }}
}

// Open opens a database. It makes no connection yet.
func Open(root string, opt Options, open backend.OpenOptions) (*Backend, error) {
	return (&cores{opt: opt, open: map[string]*core{}}).view(root, open)
}

// cores are the open databases of a driver, by their URLs.
type cores struct {
	opt Options

	mu   sync.Mutex
	open map[string]*core
}

// core is the state that the views of one database share.
type core struct {
	db      *pgdb.DB
	clock   func() time.Time
	queue   queue
	notices notices
	feed    feed

	purged  atomic.Int64 // when purge ran last
	purging sync.WaitGroup

	views int // guarded by cores.mu
}

// view opens a view, and its database if no other view has it open.
func (cs *cores) view(root string, open backend.OpenOptions) (*Backend, error) {
	if err := open.Durability.Check(); err != nil {
		return nil, err
	}
	prefix := ""
	if open.Below != "" {
		if err := backend.CheckName(open.Below); err != nil {
			return nil, err
		}
		prefix = open.Below + "/"
	}
	if open.Writer.Name == "" {
		open.Writer.Name = person()
	}
	open.Writer.Name = text(open.Writer.Name)
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c := cs.open[root]
	if c == nil {
		db, err := pgdb.Open(root, pgdb.Options{Schema: schema, Patience: cs.opt.Patience, Wrap: cs.opt.wrap})
		if err != nil {
			return nil, err
		}
		c = &core{db: db, clock: cs.opt.Clock}
		if c.clock == nil {
			c.clock = time.Now
		}
		c.queue.most = max(1, db.Conns()/2)
		c.notices.start(c)
		c.feed.start(c)
		cs.open[root] = c
	}
	c.views++
	b := &Backend{core: c, prefix: prefix, opt: open}
	b.ctx, b.cancel = context.WithCancel(c.db.Context())
	b.release = func() { cs.release(root, c) }
	return b, nil
}

// release closes a database with its last view.
func (cs *cores) release(root string, c *core) {
	cs.mu.Lock()
	c.views--
	last := c.views == 0
	if last {
		delete(cs.open, root)
	}
	cs.mu.Unlock()
	if last {
		c.notices.stop()
		c.purging.Wait()
		c.db.Close()
	}
}

// text returns a text without characters that the database refuses.
func text(s string) string { return strings.ReplaceAll(strings.ToValidUTF8(s, "_"), "\x00", "_") }

// person returns the user and the host.
func person() string {
	name := os.Getenv("USER")
	if name == "" {
		name = os.Getenv("USERNAME")
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return name + "@" + host
}

// Backend is the logs in one folder of a database. It connects when it is used first.
type Backend struct {
	*core
	prefix  string // of the names in the database: "", "origin/" or "origin/source/"
	opt     backend.OpenOptions
	release func()

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	closed atomic.Bool
}

// key is the key of a log in all tables.
type key [16]byte

func (b *Backend) key(name string) key { return keyOf(b.prefix + name) }

// keyOf returns the key for a name in the database.
func keyOf(name string) key {
	sum := sha256.Sum256([]byte(name))
	return key(sum[:16])
}

// begin makes the checks of a method that only reads.
func (b *Backend) begin(ctx context.Context, name string) error {
	err := backend.Begin(ctx, b.closed.Load(), name)
	if err == nil && b.prefix == "" && !strings.Contains(name, "/") {
		err = fmt.Errorf("%s: %w: a name in an archive begins with the origin of the log and a slash", name, backend.ErrName)
	}
	return err
}

// encode makes the checks of every mutation and returns the bytes of its records.
func (b *Backend) encode(ctx context.Context, name string, records [][]byte) ([]byte, error) {
	if err := b.writable(ctx, name); err != nil {
		return nil, err
	}
	return backend.Encode([]byte{}, name, backend.IsText(name), records...)
}

func (b *Backend) writable(ctx context.Context, name string) error {
	err := b.begin(ctx, name)
	if err == nil && b.opt.ReadOnly {
		err = fmt.Errorf("%s: %w", name, backend.ErrReadOnly)
	}
	return err
}

// write runs an operation that changes the database; see pgdb.DB.Write.
func (b *Backend) write(ctx context.Context, do func(p *pgdb.Pool, again bool) error) error {
	return b.plain(b.db.Write(ctx, do))
}

// read runs an operation that only reads; see pgdb.DB.Read.
func (b *Backend) read(ctx context.Context, do func(p *pgdb.Pool) error) error {
	return b.plain(b.db.Read(ctx, do))
}

// plain translates an error of the database to one of package backend.
func (b *Backend) plain(err error) error {
	switch {
	case err == nil:
		return nil
	case b.closed.Load() || errors.Is(err, pgdb.ErrClosed):
		return backend.ErrClosed
	case errors.Is(err, pgdb.ErrReadOnly):
		return fmt.Errorf("%w: %s", backend.ErrReadOnly, err)
	}
	return err
}

// Identity implements backend.Identified.
func (b *Backend) Identity(ctx context.Context) (id string, err error) {
	if b.closed.Load() {
		return "", backend.ErrClosed
	}
	err = b.read(ctx, func(p *pgdb.Pool) error {
		return p.QueryRow(ctx, "select id::text from treeline.identity").Scan(&id)
	})
	if errors.Is(err, pgdb.ErrEmpty) {
		return "", nil
	}
	return id, err
}

// Close implements backend.Backend.
func (b *Backend) Close() error {
	if b.closed.Swap(true) {
		return nil
	}
	b.cancel() // a Watch that waits for the server keeps others from the feed
	b.feed.leave(func(w *watcher) bool { return w.b == b })
	b.release()
	return nil
}
