package history

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/litefile"
)

// Prompt is a prompt that was typed.
type Prompt struct {
	// ID is the row in the database; later prompts have larger ones. 0 means none.
	ID   int64
	Text string
	// CWD is the directory where it was typed, "" if unknown.
	CWD string
	// At is the time, in whole seconds.
	At time.Time
}

// dbOptions say how a database is used. The zero value is right outside of tests.
type dbOptions struct {
	// FS is the file system for everything but the database itself; nil is the operating system's.
	FS durable.FS
	// Clock returns the times of prompts; nil is time.Now.
	Clock func() time.Time
	// Busy is how long to wait for other writers; 0 means five seconds, as oh-my-pi waits.
	Busy time.Duration
	// Guest says that the database belongs to an agent, which may open it at any moment without waiting for locks: Close
	// does not lock it, and leaves the write-ahead log as the agent does when it exits.
	Guest bool
}

func (o *dbOptions) fill() {
	if o.FS == nil {
		o.FS = durable.OS{}
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Busy == 0 {
		o.Busy = 5 * time.Second
	}
}

// Errors of this package. Every function and method may return an error that wraps one of them.
var (
	// ErrDamaged: the file is not a database, or parts of it cannot be read.
	ErrDamaged = errors.New("the history is damaged")
	// ErrForeign: the database has the layout of a newer program. It can be read if it has the same columns.
	ErrForeign = errors.New("the history has the layout of another program or of a newer version")
	// ErrNotHistory: the database belongs to another program: it has tables, and none of them has prompts.
	ErrNotHistory = errors.New("not a history: the database has other tables, and none named history")
	// ErrReadOnly: the history was opened for reading.
	ErrReadOnly = errors.New("the history was opened for reading")
	// ErrClosed: the history was closed.
	ErrClosed = errors.New("the history is closed")
	// ErrEmpty: the prompt has no text.
	ErrEmpty = errors.New("the prompt is empty")
)

// History is an open database. Its methods are safe for concurrent use, and other processes may use the same database.
type History struct {
	path  string
	opt   dbOptions
	queue *queue // nil: read-only

	foreign bool // of another or newer program: read-only

	mu   sync.RWMutex // a reader may have to reopen the database
	db   *litefile.DB
	seen *litefile.Stamp // of the agent's file, if that is read directly
	done bool            // db is closed

	closing sync.Once
	closed  error // the result of Close
}

// openDB opens a database for reading and writing, and creates it with its folders if it is missing. It migrates an older
// layout as oh-my-pi does, and refuses the database of another program (ErrNotHistory).
func openDB(ctx context.Context, path string, opt dbOptions) (*History, error) {
	opt.fill()
	// Two connections, so that reading need not wait for writing. The prompts with a word lie on many pages: a search at each key press
	// would read them again.
	db, err := litefile.Write(opt.FS, path, litefile.Writing{Busy: opt.Busy, Connections: 2, Cache: 8 << 20})
	if err != nil {
		return nil, err
	}
	h := &History{path: path, opt: opt, db: db}
	if err := h.prepare(ctx); err != nil {
		return nil, errors.Join(h.explain(err), db.Close())
	}
	if opt.Guest { // only once it is known to be a history: nothing is left beside other databases
		db.KeepLog()
	}
	h.queue = newQueue(h.write)
	return h, nil
}

// Path returns the path of the database.
func (h *History) Path() string { return h.path }

// Add queues a prompt and returns at once. Prompts are written in the order of the calls, except empty ones and one that
// equals the prompt before it, also of another process. The error is that of the first write that failed, ErrReadOnly or
// ErrClosed; nil does not mean that the prompt is written. See Flush.
func (h *History) Add(prompt, cwd string) error {
	if h.queue == nil {
		return ErrReadOnly
	}
	prompt = normal(prompt)
	if prompt == "" {
		return nil
	}
	return h.queue.add(Prompt{Text: prompt, CWD: cwd, At: h.opt.Clock()})
}

// Flush returns when everything added before is written, with the error of the first write that failed. When ctx is
// cancelled it returns the cause, and writing continues.
func (h *History) Flush(ctx context.Context) error {
	if h.queue == nil {
		return ErrReadOnly
	}
	return h.queue.flush(ctx)
}

// Close writes what was added and closes the database. It returns the error of the first write that failed. A second call
// returns the same.
func (h *History) Close() error {
	h.closing.Do(func() {
		var errs []error
		if h.queue != nil {
			errs = append(errs, h.queue.close())
		}
		h.mu.Lock()
		h.done = true
		errs = append(errs, h.explain(h.db.Close()))
		h.mu.Unlock()
		h.closed = cmp.Or(errs...)
	})
	return h.closed
}

// write writes one batch of the queue in one transaction. The last prompt is read in it, because other processes write as
// well.
func (h *History) write(batch []Prompt) error {
	err := h.db.Transact(context.Background(), func(tx *sql.Tx) error {
		var last string
		err := tx.QueryRow(`SELECT prompt FROM history ORDER BY id DESC LIMIT 1`).Scan(&last)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		for _, p := range batch {
			if p.Text == last {
				continue
			}
			if err := insert(context.Background(), tx, p); err != nil {
				return err
			}
			last = p.Text
		}
		return nil
	})
	return h.explain(err)
}

func insert(ctx context.Context, tx *sql.Tx, p Prompt) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO history (prompt, created_at, cwd) VALUES (?, ?, ?)`, p.Text, p.At.Unix(), nullable(p.CWD))
	return err
}

func nullable(s string) sql.NullString { return sql.NullString{String: s, Valid: s != ""} }

// explain adds the path, and ErrDamaged for damage.
func (h *History) explain(err error) error {
	switch {
	case err == nil:
		return nil
	case litefile.IsCorrupt(err):
		return fmt.Errorf("%s: %w: %w", h.path, ErrDamaged, err)
	case litefile.IsUnwritable(err):
		return fmt.Errorf("%s: it, or the folder that it is in, cannot be written: %w", h.path, err)
	}
	return fmt.Errorf("%s: %w", h.path, err)
}
