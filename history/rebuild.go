package history

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/treeline-dev/treeline/internal/durable"
)

// Rebuild moves a history aside, whatever state it is in, and makes a new one from what can be read of it and from the
// sessions: all of them for our own, those of the agent for an agent's. Nothing is deleted. Opt.DB must exist.
func Rebuild(ctx context.Context, opt Options) (Report, error) {
	if err := opt.checkDB(); err != nil {
		return Report{}, err
	}
	f, err := opt.files()
	if err != nil {
		return Report{}, err
	}
	return rebuild(ctx, opt, f, true)
}

// rebuild repairs a history. Unless force is set, it does so only if the damage is still there once it has the lock: another
// process may have been faster.
func rebuild(ctx context.Context, opt Options, f files, force bool) (Report, error) {
	if f.lock == "" {
		return Report{}, errors.New("history: State is not set, and the lock for a rebuild is kept there")
	}
	unlock, err := lock(ctx, f.lock)
	if err != nil {
		return Report{}, err
	}
	defer unlock()
	if !force {
		if sound, err := isSound(ctx, f.db); sound || err != nil {
			return Report{}, err
		}
	}
	if _, err := os.Stat(f.db); errors.Is(err, fs.ErrNotExist) {
		return refill(ctx, opt, f)
	}
	// A mistyped path must not move another program's database.
	if h, err := openReader(ctx, f.db, dbOptions{}); err == nil {
		_ = h.Close() // nothing was read
	} else if errors.Is(err, ErrNotHistory) {
		return Report{}, err
	}
	// Everything readable is in the new database before the old one is moved, so that it is never lost.
	saved, err := salvage(ctx, f.db, 0, dbOptions{})
	if err != nil {
		return Report{}, err
	}
	fresh := f.db + ".new"
	if err := removeDB(fresh, dbOptions{}); err != nil { // left by a process that was killed here
		return Report{}, err
	}
	if err := importTo(ctx, fresh, saved); err != nil {
		return Report{}, err
	}
	aside, err := moveAside(f.db, fresh, dbOptions{FS: f.fs})
	if err != nil {
		return Report{}, err
	}
	// Prompts that were typed meanwhile went to the old database.
	next := int64(0)
	if len(saved) > 0 {
		next = saved[len(saved)-1].ID + 1
	}
	late, err := salvage(ctx, aside, next, dbOptions{})
	if err == nil && len(late) > 0 {
		err = importTo(ctx, f.db, late)
	}
	if err != nil {
		return Report{Aside: aside, Saved: len(saved)}, err
	}
	saved = append(saved, late...)
	opt.notice("the history was moved to %s; the new one is made from %d recovered prompts and the sessions", aside, len(saved))
	report, err := refill(ctx, opt, f)
	report.Aside, report.Saved = aside, len(saved)
	return report, err
}

// importTo adds prompts to a database.
func importTo(ctx context.Context, db string, prompts []Prompt) error {
	h, err := openDB(ctx, db, dbOptions{})
	if err != nil {
		return err
	}
	_, err = h.Import(ctx, prompts)
	return errors.Join(err, h.Close())
}

// refill imports the sessions, if there are any to read.
func refill(ctx context.Context, opt Options, f files) (Report, error) {
	if opt.Sessions == nil {
		return Report{}, nil
	}
	return importSessions(ctx, opt, f)
}

// isSound reads all of a history. It returns false only for known damage; a database that is busy, or that could not be read to the end, is
// an error.
func isSound(ctx context.Context, db string) (bool, error) {
	h, err := openDB(ctx, db, dbOptions{})
	if err == nil {
		err = h.check(ctx)
		err = errors.Join(err, h.Close())
	}
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case errors.Is(err, ErrDamaged):
		return false, nil
	}
	return err == nil, err
}

// lock waits until no other process repairs the history.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	var fsys durable.OS
	if err := durable.MkdirAll(fsys, filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := durable.OpenOwn(fsys, path, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	for {
		got, err := f.TryLock()
		if got {
			return func() { _ = f.Close() }, nil // which releases the lock
		}
		if err == nil {
			err = durable.Wait(ctx, 10*time.Millisecond)
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
}
