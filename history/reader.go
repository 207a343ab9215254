package history

import (
	"context"
	"errors"

	"github.com/treeline-dev/treeline/internal/litefile"
)

// openReader opens an agent's history for reading, without a trace: nothing is made, changed or locked beside it (see
// litefile.Read). Each answer is that of a moment; what others add after openReader may be seen or not. fs.ErrNotExist
// where there is none.
func openReader(ctx context.Context, path string, opt dbOptions) (*History, error) {
	opt.fill()
	var h *History
	err := litefile.Steady(ctx, opt.FS, path, func(s litefile.Stamp) (final bool, err error) {
		if h != nil {
			_ = h.Close() // of two moments, perhaps
		}
		h, err = openAt(ctx, path, opt, s)
		// What is shared with its writers has SQLite's own locks, and is of one moment whatever changes.
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

// lookAgain opens the database anew where it changed since it was opened: what was read may be of two moments.
func (h *History) lookAgain(ctx context.Context, seen *litefile.Stamp) (bool, error) {
	// Without a stamp it is a copy, or SQLite itself gives each answer of one moment.
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
	// Searches hold the lock for reading, so that none is in the old database when it is closed.
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seen != seen { // another goroutine was faster
		return true, fresh.Close()
	}
	err = h.explain(h.db.Close())
	h.db, h.seen = fresh.db, fresh.seen
	return err == nil, err
}

// openAt opens the database as the stamp describes it.
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
		// Nothing was ever added. The questions are the same with an empty table, which is nobody's file.
		return openEmpty(ctx, path, opt, h.Close())
	case !l.readable():
		err = ErrForeign
	case !l.text: // it is old; a copy gets what it lacks
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

// attach opens the database, or a copy of it, without looking into it. It does not wait for who writes: a history is open
// as long as its program runs.
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

// reattach goes on with a copy.
func reattach(h *History, s litefile.Stamp) (*History, error) {
	if h.db.Kind == litefile.Copied {
		return h, nil
	}
	if err := h.Close(); err != nil {
		return nil, err
	}
	return attach(h.path, h.opt, s, true)
}

// openEmpty is a history without prompts, in memory.
func openEmpty(ctx context.Context, path string, opt dbOptions, err error) (*History, error) {
	if err != nil {
		return nil, err
	}
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
