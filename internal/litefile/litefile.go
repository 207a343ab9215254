// Package litefile opens SQLite databases, our own and those of agents. What it adds to the driver is what files need:
//
//   - A database that we make is readable by nobody else (Write).
//   - One of an agent is read without a trace (Read): SQLite makes files beside a database in WAL mode even for somebody
//     who only reads. One without a journal is opened as one that nobody changes (immutable), and of any other a copy is
//     read. Neither knows when somebody else writes: Steady reads again until nobody did.
//   - No lock is lost: on Unix a process gives up all its locks on a file when it closes any opening of it, and to copy
//     a database would take the locks from under SQLite. So nobody copies what this process writes; see claims.
//
// It knows no table. Schemas, and what damage means, are of those who keep something in a database.
package litefile

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"modernc.org/sqlite"

	"github.com/treeline-dev/treeline/internal/durable"
)

// Kind says what an open database stands on, and so what it means for it when the file changes.
type Kind int

// The kinds.
const (
	// Shared is the file itself, through SQLite's own locks: who reads sees one moment, whoever writes. Or it is memory.
	Shared Kind = iota
	// Still is the file itself, taken for one that nobody changes. What was read is right if the Stamp is the same
	// afterwards.
	Still
	// Copied is a copy, which nobody changes. It is right if the Stamp is the same after Read.
	Copied
)

// DB is an open database. It must be closed.
type DB struct {
	*sql.DB
	// Kind is what it stands on.
	Kind Kind

	keepLog bool // see KeepLog

	once   sync.Once
	done   func() error // after the database is closed; nil: nothing
	closed error
}

// Close closes the database; of a copy nothing is left, and what was written by nobody else any more may be copied. A second
// call returns the same.
func (d *DB) Close() error {
	d.once.Do(func() {
		if d.keepLog {
			d.settle()
		}
		d.closed = d.DB.Close()
		if d.done != nil {
			d.closed = errors.Join(d.closed, d.done())
		}
	})
	return d.closed
}

// KeepLog has Close leave the write-ahead log beside the database, as a program does that just ends. Whoever closes a database
// last otherwise locks everybody out while the log is moved into it, synced and deleted, and some programs do not wait when
// they open one.
func (d *DB) KeepLog() { d.keepLog = true }

// settle moves the log into the database while others go on, and has SQLite keep the file. That it cannot is no reason to
// fail: the log is whole, and SQLite does on closing what it always does.
func (d *DB) settle() {
	ctx := context.Background()
	d.SetMaxIdleConns(1) // the others are closed: what follows is for one connection
	d.SetMaxOpenConns(1)
	c, err := d.Conn(ctx)
	if err != nil {
		return
	}
	defer c.Close()
	_, _ = c.ExecContext(ctx, `PRAGMA wal_checkpoint(PASSIVE)`)
	_ = c.Raw(func(conn any) error {
		if f, ok := conn.(sqlite.FileControl); ok {
			_, err := f.FileControlPersistWAL("main", 1)
			return err
		}
		return nil
	})
}

// Writing says how a database is written.
type Writing struct {
	// Busy is how long to wait for others who write.
	Busy time.Duration
	// Lasting makes a transaction that returned survive the loss of power, not only the end of the process.
	Lasting bool
	// Connections is how many there are at most; 0 means one. With two, reading need not wait for writing.
	Connections int
}

// Write opens a database for writing and makes it, with its folders, where there is none. Its transactions exclude other
// writers from their beginning. It waits for whoever in this process is copying the database. The file system is used for
// all but the database itself.
func Write(fsys durable.FS, path string, w Writing) (*DB, error) {
	if err := create(fsys, path); err != nil {
		return nil, err
	}
	info, err := fsys.Stat(path)
	if err != nil {
		return nil, err
	}
	synchronous := "synchronous(NORMAL)"
	if w.Lasting {
		synchronous = "synchronous(FULL)"
	}
	release := inUse.write(idOf(info))
	db, err := open(path, max(w.Connections, 1), url.Values{
		"mode": {"rw"}, "_txlock": {"immediate"}, "_pragma": {busy(w.Busy), synchronous},
	})
	if err != nil {
		release()
		return nil, err
	}
	db.done = func() error { release(); return nil }
	return db, nil
}

// create makes an empty database file that nobody else may read: SQLite would let everybody, and its other files get
// the mode of this one.
func create(fsys durable.FS, path string) error {
	if err := durable.MkdirAll(fsys, filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := fsys.Open(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return fsys.SyncDir(filepath.Dir(path))
}

// Share opens a database of ours for reading, where files beside it are no trace, and waits so long for others who write.
func Share(path string, wait time.Duration) (*DB, error) {
	return open(path, 1, url.Values{"mode": {"ro"}, "_pragma": {busy(wait)}})
}

// Memory gives an empty database that is no file.
func Memory() (*DB, error) { return open("memory", 1, url.Values{"mode": {"memory"}}) }

func busy(d time.Duration) string {
	return "busy_timeout(" + strconv.FormatInt(d.Milliseconds(), 10) + ")"
}

// open opens a database file with so many connections at most: pragmas and transactions belong to a connection.
// Nothing is opened yet: the driver connects with the first query, which is where errors of the file come out.
func open(path string, connections int, query url.Values) (*DB, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	abs = filepath.ToSlash(abs)
	if abs[0] != '/' {
		abs = "/" + abs // a drive letter
	}
	// Whose schema it is, is not known: it must not call what has effects.
	query["_pragma"] = append(query["_pragma"], "trusted_schema(OFF)")
	u := url.URL{Scheme: "file", Path: abs, RawQuery: query.Encode()}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return &DB{DB: db}, nil
}

// Transact does something alone, all of it or, where f returns an error, nothing: others who write wait, or we do.
func (d *DB) Transact(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := d.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		_ = tx.Rollback() // the first error says more
		return err
	}
	return tx.Commit()
}

// UseWAL switches the database to a write-ahead log. SQLite waits for nobody there, so we do, as long as wait.
func (d *DB) UseWAL(ctx context.Context, wait time.Duration) error {
	const pause = 5 * time.Millisecond
	for waited := time.Duration(0); ; waited += pause {
		var mode string
		err := d.QueryRowContext(ctx, `PRAGMA journal_mode`).Scan(&mode)
		if err == nil && mode != "wal" {
			err = d.QueryRowContext(ctx, `PRAGMA journal_mode = WAL`).Scan(&mode)
		}
		if err == nil || !IsBusy(err) || waited >= wait {
			return err
		}
		if err := durable.Wait(ctx, pause); err != nil {
			return err
		}
	}
}
