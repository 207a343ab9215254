// Package pgdb connects to a PostgreSQL database whose tables this program makes itself. It knows no table: package backend/postgres uses
// it to keep logs, and other packages for their data, each in a schema of its own.
//
// A DB connects when it is used first. After a lost connection it tries again, for as long as a server takes to restart or to fail over to
// its standby. Every statement must be independent of session state, so that it works behind a pooler in transaction mode; pgdb finds out
// whether there is one.
//
// On top of package pgconn, which speaks the protocol, there are a [Pool], transactions, batches and COPY, with the same names as in pgx,
// and values of the types that our tables have. All of pgx would make the program 3 MB larger.
package pgdb

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Errors that callers tell apart with errors.Is.
var (
	// ErrEmpty: the database does not have the schema, so there is nothing to read.
	ErrEmpty = errors.New("the database has no such schema")
	// ErrSchema: the tables in the database are of a version that this program does not work with. Nothing was changed.
	ErrSchema = errors.New("the schema of the database has another version")
	// ErrReadOnly: the server refuses writes.
	ErrReadOnly = errors.New("the server is a standby, or its transactions are read-only")
	// ErrClosed: the DB was closed.
	ErrClosed = errors.New("the database connection is closed")
)

// Options are the settings of a DB.
type Options struct {
	// Schema is the schema that the database needs. The first Write makes it.
	Schema Schema
	// Patience is how long a call tries to reach a server that it had reached before; 0 is 30 seconds.
	Patience time.Duration
	// Wrap, if set, changes how connections are made. It is for tests.
	Wrap func(*pgconn.Config)
}

// DB is a database. Its methods may be called from several goroutines at once.
type DB struct {
	config   *pgconn.Config
	limits   limits
	mode     mode
	schema   Schema
	patience time.Duration

	ctx    context.Context // ends with Close
	cancel context.CancelFunc

	gate    chan struct{} // holds one during a connection attempt
	pool    *Pool
	reached atomic.Pointer[Pool] // the pool, once it has had a connection
	pooled  atomic.Bool          // a pooler is between us and the server
	link    atomic.Pointer[link]
}

// Open parses a URL as libpq does. It makes no connection yet. No error contains the password.
func Open(url string, opt Options) (*DB, error) {
	a, err := parse(url)
	if err != nil {
		return nil, err
	}
	config := a.config
	d := &DB{config: config, limits: a.limits, mode: a.mode, schema: opt.Schema, patience: opt.Patience, gate: make(chan struct{}, 1)}
	if d.patience == 0 {
		d.patience = 30 * time.Second
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "treeline"
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 10 * time.Second
	}
	if opt.Wrap != nil {
		opt.Wrap(config)
	}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	return d, nil
}

// Conns returns the largest number of connections.
func (d *DB) Conns() int { return d.limits.conns }

// Context returns a context that ends with Close.
func (d *DB) Context() context.Context { return d.ctx }

// Close closes the connections. A second call does nothing.
func (d *DB) Close() {
	d.cancel()
	d.gate <- struct{}{}
	defer func() { <-d.gate }()
	if d.pool != nil {
		d.pool.close()
		d.pool = nil
	}
}
