package history

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/treeline-dev/treeline/internal/durable"
)

// OpenReader opens an agent's history for reading, without a trace: nothing is made, changed or locked beside it. Each
// answer is that of a moment; what others add after OpenReader may be seen or not. fs.ErrNotExist where there is none.
//
// SQLite makes files beside a database in WAL mode even for somebody who only reads. So a database without a journal is
// opened as one that nobody changes (immutable), and of any other a copy is read.
func OpenReader(ctx context.Context, path string, opt Options) (*History, error) {
	opt.fill()
	const tries = 100
	for try := range tries {
		before, err := stampOf(opt.FS, path)
		if err != nil {
			return nil, err
		}
		h, err := openAt(ctx, path, opt, before)
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		after, stampErr := stampOf(opt.FS, path)
		switch {
		case err == nil && stampErr == nil && (before == after || h.seen == nil && h.copied == ""):
			return h, nil
		case h != nil:
			_ = h.Close() // of two moments, perhaps
		}
		switch {
		case ctx.Err() != nil:
			return nil, err
		case stampErr != nil:
			return nil, stampErr
		case before == after:
			return nil, err
		}
		select {
		case <-time.After(time.Duration(min(try+1, 10)) * time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return nil, fmt.Errorf("%s: others write to it without a pause", path)
}

// stamp tells whether a database changed.
type stamp struct{ db, wal, journal durable.Info }

// journals are the files that belong to a database, by what their names add to its own. The database comes last: of a
// copy, whatever was checkpointed meanwhile is then in one of the two.
var journals = []string{"-wal", "-journal"}

func stampOf(fsys durable.FS, path string) (s stamp, err error) {
	if s.db, err = fsys.Stat(path); err != nil {
		return s, err
	}
	if !s.db.Mode.IsRegular() {
		return s, &fs.PathError{Op: "open", Path: path, Err: errors.New("not a file")}
	}
	for i, info := range []*durable.Info{&s.wal, &s.journal} {
		*info, err = fsys.Stat(path + journals[i])
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return s, err
		}
	}
	return s, nil
}

// lookAgain opens the database anew where it changed since it was opened: what was read may be of two moments.
func (h *History) lookAgain(ctx context.Context, seen *stamp) (bool, error) {
	if seen == nil || ctx.Err() != nil {
		return false, nil
	}
	if now, err := stampOf(h.opt.FS, h.path); err != nil || now == *seen {
		return false, err
	}
	fresh, err := OpenReader(ctx, h.path, h.opt)
	if err != nil {
		return false, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seen != seen { // another goroutine was faster
		return true, fresh.Close()
	}
	err = h.release()
	h.db, h.copied, h.seen = fresh.db, fresh.copied, fresh.seen
	return err == nil, err
}

// openAt opens the database as the stamp describes it.
func openAt(ctx context.Context, path string, opt Options, s stamp) (*History, error) {
	h, err := attach(path, opt, s, s.wal.Size > 0 || s.journal.Size > 0)
	if err != nil {
		return nil, err
	}
	l, err := lookAt(ctx, h.db)
	switch {
	case err != nil:
	case l.alien():
		err = ErrNotHistory
	case s.db.Size == 0 || l.table == "":
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

// attach opens the database, or a copy of it, without looking into it.
func attach(path string, opt Options, s stamp, copied bool) (*History, error) {
	h := &History{path: path, opt: opt, seen: &s}
	from, query := path, "mode=ro&immutable=1&_pragma=trusted_schema(OFF)"
	if writers.has(s.db) {
		h.seen, query = nil, "mode=ro&_pragma=trusted_schema(OFF)" // SQLite itself sees to it that nothing changes underneath
	} else if copied {
		temp, err := os.MkdirTemp("", "treeline-history-")
		if err != nil {
			return nil, err
		}
		h.seen = nil // a copy does not change
		h.copied, from, query = temp, filepath.Join(temp, "history.db"), "mode=rw&_pragma=trusted_schema(OFF)"
		for _, suffix := range append(journals, "") {
			if err := copyFile(path+suffix, from+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, errors.Join(err, os.RemoveAll(temp))
			}
		}
	}
	var err error
	if h.db, err = openDB(from, query, 1); err != nil {
		return nil, errors.Join(err, os.RemoveAll(h.copied))
	}
	return h, nil
}

// reattach goes on with a copy.
func reattach(h *History, s stamp) (*History, error) {
	if h.copied != "" {
		return h, nil
	}
	if err := h.Close(); err != nil {
		return nil, err
	}
	return attach(h.path, h.opt, s, true)
}

// openEmpty is a history without prompts, in memory.
func openEmpty(ctx context.Context, path string, opt Options, err error) (*History, error) {
	if err != nil {
		return nil, err
	}
	h := &History{path: path, opt: opt}
	if h.db, err = openDB(path, "mode=memory", 1); err != nil {
		return nil, err
	}
	if _, err := h.db.ExecContext(ctx, layout{}.missing()); err != nil {
		return nil, errors.Join(h.explain(err), h.Close())
	}
	return h, nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
