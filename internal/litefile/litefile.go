// Package litefile opens SQLite databases: those of treeline and those of agents. It adds to the driver:
//
//   - Write creates a database that only its owner can read.
//   - Read reads a database of an agent without a trace. SQLite creates files next to a database in WAL mode even for a
//     reader. So a database without a journal is opened as immutable, and any other one is copied. Neither notices a
//     concurrent write; Steady reads again until there was none.
//   - Follow does the same for a large database that a running program writes: it reads the write-ahead log itself, and
//     nothing is copied.
//   - Locks are not lost. On Unix a process loses all its locks on a file when it closes any descriptor of it, so a copy
//     would drop the locks of SQLite. A database that this process writes is therefore not copied; see claims.
//
// It knows nothing about tables.
package litefile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"modernc.org/sqlite"

	"github.com/treeline-dev/treeline/internal/durable"
)

// Kind is what an open database reads. It decides what a change of the file means.
type Kind int

// The kinds.
const (
	// Shared is the file itself with SQLite's locks: a transaction sees one snapshot. It is also used for memory.
	Shared Kind = iota
	// Still is the file itself, opened as immutable. What was read is valid if the Stamp is the same afterwards.
	Still
	// Copied is a copy. It is valid if the Stamp is the same after Read.
	Copied
)

// DB is an open database. It must be closed.
type DB struct {
	*sql.DB
	// Kind is what the database reads.
	Kind Kind

	keepLog bool // see KeepLog

	once   sync.Once
	done   func() error // called after the database is closed, unless nil
	closed error
}

// Close closes the database and removes a copy. A second call returns the same error.
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

// KeepLog makes Close keep the write-ahead log, as if the process had just ended. Otherwise the last connection locks the
// database while it moves the log into it, and some programs do not wait for that.
func (d *DB) KeepLog() { d.keepLog = true }

// settle moves the log into the database without locking it, and makes SQLite keep the log file. It is best effort: if it fails, SQLite
// closes the database as usual.
func (d *DB) settle() {
	ctx := context.Background()
	d.SetMaxIdleConns(1) // closes all other connections
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

// Writing are the settings of a database that is opened for writing.
type Writing struct {
	// Busy is how long to wait for other writers.
	Busy time.Duration
	// Lasting makes a transaction survive a crash of the machine, not only of the process.
	Lasting bool
	// Connections is the largest number of connections; 0 means one. With two, a read need not wait for a write.
	Connections int
	// Cache is how many bytes of the database each connection may keep in memory; 0 means as many as SQLite chooses, 2 MB.
	Cache int
}

// Write opens a database for writing, and creates it and its folders if necessary. Its transactions exclude other writers
// from the start. It waits while this process copies the database. fsys is used for everything but the database itself.
func Write(fsys durable.FS, path string, w Writing) (*DB, error) {
	if err := create(fsys, path); err != nil {
		return nil, err
	}
	if err := checkBeside(path); err != nil {
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
	pragmas := []string{busy(w.Busy), synchronous}
	if w.Cache > 0 {
		pragmas = append(pragmas, "cache_size("+strconv.Itoa(-w.Cache>>10)+")") // negative: in KB, not in pages
	}
	release := inUse.write(idOf(info))
	db, err := open(path, max(w.Connections, 1), url.Values{"mode": {"rw"}, "_txlock": {"immediate"}, "_pragma": pragmas})
	if err != nil {
		release()
		return nil, err
	}
	db.done = func() error { release(); return nil }
	return db, nil
}

// checkBeside refuses a database whose journal is a link, or has a second name: SQLite would write to the target. It does not count the
// name under which a crash left the journal while the database was moved aside.
func checkBeside(path string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil // the open returns the reason
	}
	for _, suffix := range Suffixes() {
		if suffix == "" {
			continue
		}
		info, err := os.Lstat(real + suffix)
		if err != nil {
			continue
		}
		file, err := (durable.OS{}).Stat(real + suffix)
		if info.Mode()&fs.ModeSymlink != 0 || err == nil && file.Links > 1 && int(file.Links) > 1+movedAside(real, suffix, info) {
			return fmt.Errorf("%s is a link, and SQLite would write to where it leads; remove it", real+suffix)
		}
	}
	return nil
}

// Aside is the beginning of the suffix that the name of a damaged database gets when it is moved aside.
const Aside = ".corrupt-"

// movedAside counts the names that a journal got when its database was moved aside.
func movedAside(path, suffix string, journal fs.FileInfo) (names int) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return 0
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), filepath.Base(path)+Aside) || !strings.HasSuffix(e.Name(), suffix) {
			continue
		}
		if info, err := e.Info(); err == nil && os.SameFile(info, journal) {
			names++
		}
	}
	return names
}

// create makes an empty private file. SQLite would make it readable for all; its other files get the same mode.
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

// Share opens a database for reading with SQLite's locks, which may create files next to it. It waits for writers.
func Share(path string, wait time.Duration) (*DB, error) {
	if err := checkBeside(path); err != nil {
		return nil, err
	}
	return open(path, 1, url.Values{"mode": {"ro"}, "_pragma": {busy(wait)}})
}

// Memory opens an empty database in memory.
func Memory() (*DB, error) { return open("memory", 1, url.Values{"mode": {"memory"}}) }

func busy(d time.Duration) string {
	return "busy_timeout(" + strconv.FormatInt(d.Milliseconds(), 10) + ")"
}

// open prepares a database. The driver opens the file at the first query, which reports its errors.
func open(path string, connections int, query url.Values) (*DB, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	abs = filepath.ToSlash(abs)
	if abs[0] != '/' {
		abs = "/" + abs // a drive letter
	}
	u := url.URL{Scheme: "file", Path: abs}
	return connect(u.String(), connections, query)
}

// connect prepares the database of a URI.
func connect(uri string, connections int, query url.Values) (*DB, error) {
	// The schema may be foreign: it must not call functions with side effects.
	query["_pragma"] = append(query["_pragma"], "trusted_schema(OFF)")
	db, err := sql.Open("sqlite", uri+"?"+query.Encode())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return &DB{DB: db}, nil
}

// Transact runs f in a transaction that excludes other writers. If f returns an error, nothing is changed.
func (d *DB) Transact(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := d.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}

// UseWAL switches the database to a write-ahead log. SQLite does not wait for other connections there, so UseWAL does.
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
