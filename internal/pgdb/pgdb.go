// Package pgdb connects to a PostgreSQL database whose tables this program makes itself. It knows no table: package
// backend/postgres keeps logs through it, and others what belongs to them, each in a schema of its own.
//
// A DB connects when it is used first. After a lost connection it tries again, for as long as a server takes to restart or to
// hand over to its standby. Every statement has to stand for itself, without session state, so that it works behind a pooler in
// transaction mode; pgdb finds out whether there is one.
package pgdb

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Errors that callers tell apart with errors.Is.
var (
	// ErrEmpty: the database does not have the schema, so there is nothing to read.
	ErrEmpty = errors.New("the database has no such schema")
	// ErrSchema: the tables in the database are of a version that this program does not work with. Nothing was changed.
	ErrSchema = errors.New("the schema of the database has another version")
	// ErrReadOnly: the server takes no writes.
	ErrReadOnly = errors.New("the server is a standby, or its transactions are read-only")
	// ErrClosed: the DB was closed.
	ErrClosed = errors.New("the database connection is closed")
)

// Options say how a database is used.
type Options struct {
	// Schema is what the database needs. The first Write makes it.
	Schema Schema
	// Patience is how long a call tries to reach a server that it had reached before; 0 is 30 seconds.
	Patience time.Duration
	// Wrap, if set, changes how connections are made. It is for tests.
	Wrap func(*pgx.ConnConfig)
}

// DB is a database. Its methods may be called from several goroutines at once.
type DB struct {
	config   *pgxpool.Config
	mode     bool // the URL names the mode of statements
	schema   Schema
	patience time.Duration

	ctx    context.Context // ends with Close
	cancel context.CancelFunc

	mu      sync.Mutex // held while it connects
	pool    *pgxpool.Pool
	reached atomic.Pointer[pgxpool.Pool] // pool, once it had a connection
	pooled  atomic.Bool                  // a pooler is between us and the server
	link    atomic.Pointer[link]
}

// Open reads a URL as pgx does. It makes no connection yet. No error has the password.
func Open(url string, opt Options) (*DB, error) {
	config, query, err := parse(url)
	if err != nil {
		return nil, err
	}
	d := &DB{config: config, mode: query.Has("default_query_exec_mode"), schema: opt.Schema, patience: opt.Patience}
	if d.patience == 0 {
		d.patience = 30 * time.Second
	}
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "treeline"
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = 10 * time.Second
	}
	if !query.Has("pool_max_conns") {
		config.MaxConns = 8
	}
	if opt.Wrap != nil {
		opt.Wrap(config.ConnConfig)
	}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	return d, nil
}

// Conns is how many connections there are at most.
func (d *DB) Conns() int { return int(d.config.MaxConns) }

// Context ends with Close.
func (d *DB) Context() context.Context { return d.ctx }

// Close closes the connections. A second call does nothing.
func (d *DB) Close() {
	d.cancel()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pool != nil {
		d.pool.Close()
		d.pool = nil
	}
}
