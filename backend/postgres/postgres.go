// Package postgres keeps logs in PostgreSQL 15 or newer, for a team with many machines.
//
// The URL is that of pgx, postgres://user@host/db?origin=NAME, with several hosts and target_session_attrs if there are
// standbys. The origin names the store that the logs come from, mostly a machine. A log is known by origin and name, so two
// machines never overwrite each other's logs. A Backend shows the logs of one origin.
//
// # Rows
//
// A log is a row of treeline.log: generation, size, time of the last change. Its records are rows of treeline.record, exact
// bytes with their line ends, at their byte offset. A record longer than a piece (1 MB) is several rows. Rows are never changed:
// Replace makes a new generation, and old ones are kept for 30 days, so a reader that holds one reads on. A removed log
// leaves a row, which keeps the generation counting.
//
// # Appending
//
// An append is one statement: it changes the row of the log if generation and size are what the caller saw, and inserts the
// records. Appends that come while others are on their way are sent together, as one transaction. Every mutation is durable
// when it returns, as far as the server's synchronous_commit says so.
//
// If the connection is lost, it is unknown whether the statement was executed. It is sent again to a new connection. If the
// log has changed, its bytes decide: if those at the place of the append are the ones that were sent, it has succeeded. Another
// writer that appended the same bytes at the same place in that moment cannot be told apart.
//
// # Poolers
//
// Every statement stands for itself: there is no session state, and locks last for one transaction, so it works behind
// pgbouncer in transaction mode. Prepared statements and LISTEN are used only if the connection reaches the server directly.
//
// # Limits
//
// Two processes that create "a" and "a/b" in the same moment may both succeed. Otherwise a log in the place of a folder is
// refused, as in files.
package postgres

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/treeline-dev/treeline/backend"
)

// Options say how a driver opens databases.
type Options struct {
	// Origin gives the origin for URLs that do not name one. If it is nil, they are refused.
	Origin func() (string, error)
	// Writer is noted with every write: who writes, from which machine. "" is the user and the host.
	Writer string
	// Patience is how long a call tries to reach a server that it had reached before; 0 is 30 seconds.
	Patience time.Duration
	// Clock names torn records that are moved aside; nil is time.Now. All other times are those of the server.
	Clock func() time.Time
}

// Driver returns the driver for the scheme postgres.
func Driver(opt Options) backend.Driver {
	return backend.Driver{Name: "postgres", Scheme: "postgres", Open: func(root string, open backend.OpenOptions) (backend.Backend, error) {
		return Open(root, opt, open)
	}}
}

// Backend is the logs of one origin in a database. It connects when it is used first.
type Backend struct {
	origin string
	writer string
	config *pgxpool.Config
	mode   bool // the URL names the mode of statements
	opt    backend.OpenOptions
	wait   time.Duration
	clock  func() time.Time

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	closed atomic.Bool

	mu     sync.Mutex // held while it connects
	pool   *pgxpool.Pool
	pooled atomic.Bool // a pooler is between us and the server
	link   atomic.Pointer[link]

	queue   queue
	notices notices
}

// Open opens a database. It makes no connection yet.
func Open(root string, opt Options, open backend.OpenOptions) (*Backend, error) {
	if err := open.Durability.Check(); err != nil {
		return nil, err
	}
	address, origin, mode, err := split(root)
	if err != nil {
		return nil, err
	}
	if origin == "" && opt.Origin != nil {
		if origin, err = opt.Origin(); err != nil {
			return nil, err
		}
	}
	if err := checkOrigin(origin); err != nil {
		return nil, err
	}
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, err // pgx leaves out the password
	}
	b := &Backend{origin: origin, writer: opt.Writer, config: config, mode: mode, opt: open, wait: opt.Patience, clock: opt.Clock}
	if b.clock == nil {
		b.clock = time.Now
	}
	if b.writer == "" {
		b.writer = person()
	}
	b.writer = strings.ReplaceAll(strings.ToValidUTF8(b.writer, "_"), "\x00", "_") // the database takes no other text
	if b.wait == 0 {
		b.wait = 30 * time.Second
	}
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "treeline"
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = 10 * time.Second
	}
	if !strings.Contains(address, "pool_max_conns=") {
		config.MaxConns = 8
	}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	b.queue.most = max(1, int(config.MaxConns)/2)
	b.notices.start(b)
	return b, nil
}

// split takes the origin out of a URL: pgx would send it to the server. mode reports that the URL says how statements are
// executed.
func split(root string) (address, origin string, mode bool, err error) {
	address, query, ok := strings.Cut(root, "?")
	if !ok {
		return root, "", false, nil
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return "", "", false, fmt.Errorf("the query of a postgres URL: %w", err)
	}
	origin, mode = values.Get("origin"), values.Has("default_query_exec_mode")
	values.Del("origin")
	return address + "?" + values.Encode(), origin, mode, nil
}

func checkOrigin(origin string) error {
	switch {
	case origin == "":
		return fmt.Errorf("the postgres URL names no origin: add origin=NAME")
	case !utf8.ValidString(origin) || strings.ContainsAny(origin, "/\x00") || len(origin) > 255:
		return fmt.Errorf("%.80q is no origin: it must be a short name without a slash", origin)
	}
	return nil
}

// person is the user and the host.
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

// Origin names the store that the logs come from.
func (b *Backend) Origin() string { return b.origin }

// key is the key of a log in all tables.
type key [16]byte

func (b *Backend) key(name string) (k key) {
	h := sha256.New()
	h.Write([]byte(b.origin))
	h.Write([]byte{0})
	h.Write([]byte(name))
	copy(k[:], h.Sum(nil))
	return k
}

// begin makes the checks of a method that only reads.
func (b *Backend) begin(ctx context.Context, name string) error {
	return backend.Begin(ctx, b.closed.Load(), name)
}

// encode makes the checks of every mutation and gives the bytes of its records.
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

// Close implements backend.Backend.
func (b *Backend) Close() error {
	if b.closed.Swap(true) {
		return nil
	}
	b.notices.stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pool != nil {
		b.pool.Close()
	}
	return nil
}
