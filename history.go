package treeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/treeline-dev/treeline/index/history"
	"github.com/treeline-dev/treeline/internal/durable"
)

type (
	// History is the prompts that were typed: an open history.db, as oh-my-pi keeps it.
	History = history.History
	// Prompt is one of them.
	Prompt = history.Prompt
	// HistoryQuery says which prompts are wanted.
	HistoryQuery = history.Query
)

// The errors of a history that can be told apart.
var (
	ErrHistoryDamaged = history.ErrCorrupt
	ErrHistoryForeign = history.ErrForeign
	ErrNotHistory     = history.ErrNotHistory
)

// HistoryOptions say which history is meant, and of which machine.
type HistoryOptions struct {
	Options
	// DB is the database; "" is our own: history.db in State. It may be that of an agent, such as
	// ~/.omp/agent/history.db. Reading (ReadOnly) leaves no trace beside it; writing does what the agent would do.
	DB string
	// Store is where sessions are found; nil is that of Options.
	Store *Store
	// Progress, if set, is told how many of the sessions were read.
	Progress func(done, total int)
	// Notice, if set, is told what was done unasked: that a damaged history was moved aside, and where to.
	Notice func(text string)
}

// historyPlaces is where everything of a history lies.
type historyPlaces struct {
	db, lock, places string
	own              bool // ours, not an agent's
}

func (o HistoryOptions) paths() (historyPlaces, error) {
	env, err := o.env()
	if err != nil {
		return historyPlaces{}, err
	}
	state, cache := o.State, o.Cache
	if state == "" {
		state = StateDir(env.Home, env.Getenv)
	}
	if cache == "" {
		cache = CacheDir(env.Home, env.Getenv)
	}
	p := historyPlaces{
		db: filepath.Join(state, "history.db"), own: true,
		lock: filepath.Join(state, "history.lock"), places: filepath.Join(cache, "history-places.db"),
	}
	if o.DB != "" {
		db, err := filepath.Abs(o.DB)
		if err != nil {
			return p, err
		}
		p.own = db == p.db
		p.db = db
	}
	return p, nil
}

func (o HistoryOptions) notice(format string, args ...any) {
	if o.Notice != nil {
		o.Notice(fmt.Sprintf(format, args...))
	}
}

// OpenHistory opens a history for reading and adding, and makes it where there is none; with ReadOnly set it opens one for
// reading (fs.ErrNotExist where there is none). Our own is mended where it is damaged: what it was is moved aside, and what
// can be read of it and what the sessions tell becomes a new one. That of an agent is left as it is, and the error wraps
// ErrHistoryDamaged: see RebuildHistory.
func OpenHistory(ctx context.Context, opt HistoryOptions) (*History, error) {
	p, err := opt.paths()
	if err != nil {
		return nil, err
	}
	open := func() (*History, error) {
		if opt.ReadOnly {
			return history.OpenReader(ctx, p.db, history.Options{})
		}
		return history.Open(ctx, p.db, history.Options{Guest: !p.own})
	}
	h, err := open()
	if !errors.Is(err, ErrHistoryDamaged) || !p.own {
		return h, err
	}
	if _, err := rebuildHistory(ctx, opt, p, false); err != nil {
		return nil, err
	}
	return open()
}

// SearchHistory opens a history for reading, searches it, and closes it. Our own is mended like OpenHistory does it, also
// where the damage shows only now.
func SearchHistory(ctx context.Context, opt HistoryOptions, q HistoryQuery) ([]Prompt, error) {
	p, err := opt.paths()
	if err != nil {
		return nil, err
	}
	opt.ReadOnly = true
	for mended := false; ; mended = true {
		list, err := searchHistory(ctx, opt, q)
		if mended || !p.own || !errors.Is(err, ErrHistoryDamaged) {
			return list, err
		}
		if _, err := rebuildHistory(ctx, opt, p, false); err != nil {
			return nil, err
		}
	}
}

func searchHistory(ctx context.Context, opt HistoryOptions, q HistoryQuery) ([]Prompt, error) {
	h, err := OpenHistory(ctx, opt)
	if err != nil {
		return nil, err
	}
	list, err := h.Search(ctx, q)
	return list, errors.Join(err, h.Close())
}

// AddHistory opens a history, adds one prompt, and closes it when the prompt is written. Our own is mended like OpenHistory
// does it, also where the damage shows only now.
func AddHistory(ctx context.Context, opt HistoryOptions, prompt, cwd string) error {
	p, err := opt.paths()
	if err != nil {
		return err
	}
	opt.ReadOnly = false
	err = addHistory(ctx, opt, prompt, cwd)
	if !p.own || !errors.Is(err, ErrHistoryDamaged) {
		return err
	}
	if _, err := rebuildHistory(ctx, opt, p, false); err != nil {
		return err
	}
	return addHistory(ctx, opt, prompt, cwd)
}

func addHistory(ctx context.Context, opt HistoryOptions, prompt, cwd string) error {
	h, err := OpenHistory(ctx, opt)
	if err != nil {
		return err
	}
	_ = h.Add(prompt, cwd) // Close says the same
	return h.Close()
}

// RebuildHistory moves a history aside, whatever state it is in, and makes a new one of what can be read of it and of what
// the sessions tell: all sessions for our own, the agent's for an agent's. Nothing is deleted.
func RebuildHistory(ctx context.Context, opt HistoryOptions) (HistoryImport, error) {
	p, err := opt.paths()
	if err != nil {
		return HistoryImport{}, err
	}
	return rebuildHistory(ctx, opt, p, true)
}

// rebuildHistory mends a history. Unless it is forced it does so only where the damage is still there once it is alone:
// another process may have been faster.
func rebuildHistory(ctx context.Context, opt HistoryOptions, p historyPlaces, force bool) (HistoryImport, error) {
	unlock, err := lockHistory(ctx, p.lock)
	if err != nil {
		return HistoryImport{}, err
	}
	defer unlock()
	if !force {
		if sound, err := historySound(ctx, p.db); sound || err != nil {
			return HistoryImport{}, err
		}
	}
	if _, err := os.Stat(p.db); errors.Is(err, fs.ErrNotExist) {
		return importHistory(ctx, opt, p)
	}
	// A mistyped path: nobody wants the database of something else moved. What is damaged shows as such, and goes on.
	if h, err := history.OpenReader(ctx, p.db, history.Options{}); err == nil {
		_ = h.Close() // nothing was read
	} else if errors.Is(err, ErrNotHistory) {
		return HistoryImport{}, err
	}
	// All that can be read is in the new one before the old one goes: nobody who gives up, or is killed, loses it.
	saved, err := history.Salvage(ctx, p.db, history.Options{})
	if err != nil {
		return HistoryImport{}, err
	}
	fresh := p.db + ".new"
	if err := history.Remove(fresh, history.Options{}); err != nil { // of one who was killed here
		return HistoryImport{}, err
	}
	h, err := history.Open(ctx, fresh, history.Options{})
	if err != nil {
		return HistoryImport{}, err
	}
	_, err = h.Import(ctx, saved)
	if err := errors.Join(err, h.Close()); err != nil {
		return HistoryImport{}, err
	}
	aside, err := history.MoveAside(p.db, fresh, history.Options{})
	if err != nil {
		return HistoryImport{}, err
	}
	opt.notice("the history was moved to %s; a new one is made of %d prompts that could be read, and of the sessions", aside, len(saved))
	report, err := importHistory(ctx, opt, p)
	report.Aside, report.Saved = aside, len(saved)
	return report, err
}

// historySound reads all of a history. Only what is known to be damaged is not sound: one that somebody else keeps busy,
// or that could not be read to the end, is an error.
func historySound(ctx context.Context, db string) (bool, error) {
	h, err := history.Open(ctx, db, history.Options{})
	if err == nil {
		err = h.Check(ctx)
		err = errors.Join(err, h.Close())
	}
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case errors.Is(err, ErrHistoryDamaged):
		return false, nil
	}
	return err == nil, err
}

// lockHistory waits until nobody else mends the history.
func lockHistory(ctx context.Context, path string) (unlock func(), err error) {
	var fsys durable.OS
	if err := durable.MkdirAll(fsys, filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := fsys.Open(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		got, err := f.TryLock()
		if got {
			return func() { _ = f.Close() }, nil // which gives the lock up
		}
		if err == nil {
			err = durable.Wait(ctx, 10*time.Millisecond)
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
}
