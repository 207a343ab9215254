// Package history is the prompt history of a machine: what was typed, when and where. It is filled from the sessions of all
// agents (Import) and prompt by prompt (Add).
//
// # The format
//
// A history is the SQLite database that oh-my-pi 13 uses:
//
//	history(id, prompt, created_at, cwd)   a row for each prompt; the time in seconds since 1970
//	idx_history_created_at                 its times, newest first
//	history_fts                            FTS5 over the prompts, kept up to date by the trigger history_ai
//
// The text of the schema is that of oh-my-pi, space for space, so that either program can open what the other made. Prompts
// are trimmed as JavaScript trims. Empty prompts are not kept, and neither is one that equals the last.
//
// # Our own history and those of agents
//
// Our own history is created when it is missing and repaired when it is damaged. That of an agent is read without a trace,
// written as the agent itself writes it, and repaired only on request (Rebuild).
//
// # Durability
//
// History.Add only queues. Once Flush or Close returns, a prompt survives the end of the process. SQLite syncs it with the
// next checkpoint, which Close makes if no other process has the database open, and always in an agent's.
package history

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/store"
)

// Options say which history to use.
type Options struct {
	// State is the folder of our own history (history.db) and of its lock. It may be "" if DB is set and Rebuild is not
	// called.
	State string
	// Cache is the folder of data that can be derived again: where each prompt was used. "" keeps it in memory.
	Cache string
	// DB is the database; "" is our own in State. It may be that of an agent, such as ~/.omp/agent/history.db.
	DB string
	// ReadOnly opens the history for reading only, which leaves no trace beside it.
	ReadOnly bool
	// Sessions are read by imports and repairs. Without them a repair recovers what the damaged history still has.
	Sessions Sessions
	// Progress, if set, is called with how many of the sessions were read.
	Progress func(done, total int)
	// Notice, if set, receives messages about automatic repairs: that a damaged history was moved aside, and where to.
	Notice func(text string)
	// Problem, if set, receives an error for each place that an import could not read; otherwise Notice does.
	Problem func(error)
}

// Sessions is where the prompts of an import come from: a *store.Store.
type Sessions interface {
	List(ctx context.Context, opt place.ListOptions) ([]place.Row, error)
	Open(ctx context.Context, path string, opt store.OpenOptions) (*store.Session, error)
	Histories() []place.History
}

// files are the paths of a history.
type files struct {
	db, lock, places string
	own              bool       // not an agent's
	fs               durable.FS // for everything but the databases themselves; nil is the operating system's
}

func (o Options) files() (f files, err error) {
	if o.State == "" && o.DB == "" {
		return f, errors.New("history: neither State nor DB is set")
	}
	if o.State != "" {
		f.db, f.lock, f.own = filepath.Join(o.State, "history.db"), filepath.Join(o.State, "history.lock"), true
	}
	if o.Cache != "" {
		f.places = filepath.Join(o.Cache, "history-places.db")
	}
	if o.DB != "" {
		db, err := filepath.Abs(o.DB)
		if err != nil {
			return f, err
		}
		f.db, f.own = db, db == f.db
	}
	return f, nil
}

// checkDB returns fs.ErrNotExist if a database is named that does not exist: its path is mistyped.
func (o Options) checkDB() error {
	if o.DB == "" {
		return nil
	}
	_, err := os.Stat(o.DB)
	return err
}

func (o Options) problem(err error) {
	if o.Problem != nil {
		o.Problem(err)
		return
	}
	o.notice("%v", err)
}

func (o Options) notice(format string, args ...any) {
	if o.Notice != nil {
		o.Notice(fmt.Sprintf(format, args...))
	}
}

// Open opens a history for reading and adding, and creates it if it is missing. With ReadOnly it opens one for reading; the
// error is fs.ErrNotExist if it is missing. If our own is damaged, it is moved aside and a new one is made from what can be
// read of it and from the sessions. A damaged history of an agent is left as it is; the error wraps ErrDamaged.
func Open(ctx context.Context, opt Options) (*History, error) {
	var h *History
	err := opt.repairing(ctx, func(f files) (err error) {
		h, err = f.open(ctx, opt)
		return err
	})
	return h, err
}

func (f files) open(ctx context.Context, opt Options) (*History, error) {
	if opt.ReadOnly {
		return openReader(ctx, f.db, dbOptions{})
	}
	return openDB(ctx, f.db, dbOptions{Guest: !f.own})
}

// Search opens a history for reading, searches it, and closes it. It repairs our own as Open does, even if only the search finds the
// damage.
func Search(ctx context.Context, opt Options, q Query) ([]Prompt, error) {
	opt.ReadOnly = true
	var list []Prompt
	err := opt.repairing(ctx, func(f files) error {
		h, err := f.open(ctx, opt)
		if err != nil {
			return err
		}
		list, err = h.Search(ctx, q)
		return errors.Join(err, h.Close())
	})
	return list, err
}

// Add opens a history, adds one prompt, and closes it when the prompt is written. It repairs our own as Open does, even if only the write
// finds the damage. A prompt without text is ErrEmpty. Opt.DB must exist.
func Add(ctx context.Context, opt Options, prompt, cwd string) error {
	opt.ReadOnly = false
	if normal(prompt) == "" {
		return ErrEmpty
	}
	if err := opt.checkDB(); err != nil {
		return err
	}
	return opt.repairing(ctx, func(f files) error {
		h, err := f.open(ctx, opt)
		if err != nil {
			return err
		}
		_ = h.Add(prompt, cwd) // Close returns the same error
		return h.Close()
	})
}

// repairing calls use and, if our own history is damaged, repairs it and calls use again.
func (o Options) repairing(ctx context.Context, use func(files) error) error {
	f, err := o.files()
	if err != nil {
		return err
	}
	err = use(f)
	if !f.own || !errors.Is(err, ErrDamaged) {
		return err
	}
	if _, err := rebuild(ctx, o, f, false); err != nil {
		return err
	}
	return use(f)
}
