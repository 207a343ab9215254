package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/litefile"
)

// Prompt is something that was typed.
type Prompt struct {
	// ID is the row; later ones are larger. 0 for a prompt that is in no database.
	ID   int64
	Text string
	// CWD is where it was typed, "" where that is not known.
	CWD string
	// At is when, in whole seconds.
	At time.Time
}

// dbOptions change how a history is kept. The zero value is right outside of tests.
type dbOptions struct {
	// FS is the file system for all but the database itself; nil is that of the machine.
	FS durable.FS
	// Clock gives the times of prompts; nil is that of the machine.
	Clock func() time.Time
	// Busy is how long to wait for others who write; 0 is five seconds, as the program waits.
	Busy time.Duration
	// Guest says that the database is an agent's, which may open it at any moment and does not wait then: Close does not
	// lock it, and leaves the journal beside it as the agent does when it ends.
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

// Errors that can be told apart. ErrDamaged, ErrForeign and ErrNotHistory are wrapped by what Open, openReader and every
// later call return.
var (
	// ErrDamaged: the file is no database, or parts of it cannot be read. moveAside and salvage are for it.
	ErrDamaged = errors.New("the history is damaged")
	// ErrForeign: the database has another layout, of a newer program. It can be read where it has the same columns.
	ErrForeign = errors.New("the history has the layout of another program or of a newer version")
	// ErrNotHistory: the database is used for something else: it has tables, and none of them holds prompts.
	ErrNotHistory = errors.New("not a history: the database has other tables, and none named history")
	// ErrReadOnly: the history was opened by openReader.
	ErrReadOnly = errors.New("the history was opened for reading")
	// ErrClosed: the history was closed.
	ErrClosed = errors.New("the history is closed")
)

// History is an open database. Its methods may be called from several goroutines at once, and other processes may use
// the same database.
type History struct {
	path  string
	opt   dbOptions
	queue *queue // nil: for reading only

	foreign bool // of another program, or a newer one: only read

	mu   sync.RWMutex // a reader may have to look anew
	db   *litefile.DB
	seen *litefile.Stamp // of the agent's own file, where that is what is read

	closing sync.Once
	closed  error // what Close returned
}

// Open opens a history for reading and writing and makes it, with its folders, where there is none. An older layout is
// brought up to date as the program does it; a database of something else is left as it is (ErrNotHistory). The caller must
// Close it.
func openDB(ctx context.Context, path string, opt dbOptions) (*History, error) {
	opt.fill()
	// Two connections: one writes, and the other need not wait for it to read.
	db, err := litefile.Write(opt.FS, path, litefile.Writing{Busy: opt.Busy, Connections: 2})
	if err != nil {
		return nil, err
	}
	h := &History{path: path, opt: opt, db: db}
	if err := h.prepare(ctx); err != nil {
		return nil, errors.Join(h.explain(err), db.Close())
	}
	if opt.Guest { // not before it is known to be a history: nothing is left beside anything else
		db.KeepLog()
	}
	h.queue = newQueue(h.write)
	return h, nil
}

// Path is the database file.
func (h *History) Path() string { return h.path }

// Add queues a prompt and returns at once. It is written in the order of the calls, unless it is empty or equals the
// prompt before it: that of this History, of an earlier one, or of another process. The error is that of an earlier
// write, which stays, or ErrReadOnly or ErrClosed; nil does not say that the prompt is written. That says Flush.
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

// Flush returns when all that was added before is written, with the error of the first write that failed. When ctx ends
// earlier it returns its cause, and the writing goes on.
func (h *History) Flush(ctx context.Context) error {
	if h.queue == nil {
		return ErrReadOnly
	}
	return h.queue.flush(ctx)
}

// Close writes what was added and closes the database. It returns the error of the first write that failed. A second
// call returns the same.
func (h *History) Close() error {
	h.closing.Do(func() {
		var errs []error
		if h.queue != nil {
			errs = append(errs, h.queue.close())
		}
		h.mu.Lock()
		errs = append(errs, h.explain(h.db.Close()))
		h.mu.Unlock()
		for _, err := range errs {
			if err != nil {
				h.closed = err
				return
			}
		}
	})
	return h.closed
}

// write puts one batch of the queue into the database, in one transaction. The last prompt is asked for in it, because
// others write too.
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

// explain names the file, and tells damage from all else.
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
