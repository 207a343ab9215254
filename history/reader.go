package history

import (
	"context"
	"errors"

	"github.com/treeline-dev/treeline/internal/litefile"
)

// openReader opens a database for reading, without a trace: it creates, changes and locks nothing (see litefile.Read). Each
// answer is a snapshot, with or without what other processes add after openReader. The error is fs.ErrNotExist if the
// database is missing.
func openReader(ctx context.Context, path string, opt dbOptions) (*History, error) {
	opt.fill()
	var h *History
	err := litefile.Steady(ctx, opt.FS, path, func(s litefile.Stamp) (final bool, err error) {
		if h != nil {
			_ = h.Close() // the results may mix two states
		}
		h, err = openAt(ctx, path, opt, s)
		// SQLite's own locks protect a shared database.
		return h != nil && h.db.Kind == litefile.Shared, err
	})
	if err != nil {
		if h != nil {
			_ = h.Close() // the first error says more
		}
		return nil, err
	}
	return h, nil
}

// lookAgain opens the database again if it changed since it was opened: what was read may mix two states.
func (h *History) lookAgain(ctx context.Context, seen *litefile.Stamp) (bool, error) {
	// Without a stamp it is a copy, or SQLite isolates each query.
	if seen == nil || ctx.Err() != nil {
		return false, nil
	}
	if now, err := litefile.StampOf(h.opt.FS, h.path); err != nil || now == *seen {
		return false, err
	}
	fresh, err := openReader(ctx, h.path, h.opt)
	if err != nil {
		return false, err
	}
	// Searches hold the read lock, so none uses the old database when it is closed.
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seen != seen || h.done { // another goroutine was faster
		return true, fresh.Close()
	}
	err = h.explain(h.db.Close())
	h.db, h.seen = fresh.db, fresh.seen
	return err == nil, err
}

// openAt opens the database in the state of the stamp.
func openAt(ctx context.Context, path string, opt dbOptions, s litefile.Stamp) (*History, error) {
	h, err := attach(path, opt, s, false)
	if err != nil {
		return nil, err
	}
	l, err := lookAt(ctx, h.db)
	switch {
	case err != nil:
	case l.alien():
		err = ErrNotHistory
	case s.DB.Size == 0 || l.table == "":
		// Nothing was ever added. An empty table in memory answers all queries.
		if err := h.Close(); err != nil {
			return nil, err
		}
		return openEmpty(ctx, path, opt)
	case !l.readable():
		err = ErrForeign
	case !l.text: // an old layout; a copy gets what is missing
		if h, err = reattach(h, s); err == nil {
			_, err = h.db.ExecContext(ctx, l.missing())
		}
	}
	if err != nil && h != nil {
		err = errors.Join(h.explain(err), h.Close())
	}
	if err != nil {
		return nil, err
	}
	h.foreign = l.foreign()
	return h, nil
}

// attach opens the database, or a copy of it, without reading it. It does not wait for writers: an agent has its history open as long as it
// runs.
func attach(path string, opt dbOptions, s litefile.Stamp, copied bool) (*History, error) {
	db, err := litefile.Read(path, s, litefile.Reading{Copy: copied})
	if err != nil {
		return nil, err
	}
	h := &History{path: path, opt: opt, db: db}
	if db.Kind == litefile.Still {
		h.seen = &s
	}
	return h, nil
}

// reattach replaces the database by a copy.
func reattach(h *History, s litefile.Stamp) (*History, error) {
	if h.db.Kind == litefile.Copied {
		return h, nil
	}
	if err := h.Close(); err != nil {
		return nil, err
	}
	return attach(h.path, h.opt, s, true)
}

// openEmpty returns a history without prompts, in memory.
func openEmpty(ctx context.Context, path string, opt dbOptions) (*History, error) {
	db, err := litefile.Memory()
	if err != nil {
		return nil, err
	}
	h := &History{path: path, opt: opt, db: db}
	if _, err := db.ExecContext(ctx, layout{}.missing()); err != nil {
		return nil, errors.Join(h.explain(err), h.Close())
	}
	return h, nil
}
