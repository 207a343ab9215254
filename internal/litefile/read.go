package litefile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/treeline-dev/treeline/internal/durable"
)

// journals are what the names of a database's journals add to its own.
var journals = []string{"-wal", "-journal"}

// Suffixes are what the names of all files of a database add to its own, the database last: with the journal of another
// it would be read as if the journal were its own.
func Suffixes() []string { return append(journals[:len(journals):len(journals)], "-shm", "") }

// Stamp tells whether a database changed. A journal that is not there is a zero Info.
type Stamp struct{ DB, WAL, Journal durable.Info }

// StampOf looks at the files of a database; fs.ErrNotExist where there is none.
func StampOf(fsys durable.FS, path string) (s Stamp, err error) {
	if s.DB, err = fsys.Stat(path); err != nil {
		return s, err
	}
	if !s.DB.Mode.IsRegular() {
		return s, &fs.PathError{Op: "open", Path: path, Err: errors.New("not a file")}
	}
	for i, info := range []*durable.Info{&s.WAL, &s.Journal} {
		*info, err = fsys.Stat(path + journals[i])
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return s, err
		}
	}
	return s, nil
}

// pending says that there may be more in a journal than in the database.
// An empty journal is one that was reset and not deleted.
// A database in WAL mode may have all of its content there.
func (s Stamp) pending() bool { return s.WAL.Size > 0 || s.Journal.Size > 0 }

// Steady calls read with the stamp of a database until nothing changed meanwhile: what read saw is then of one moment. An
// error of read that may come from a change is not returned. read says itself if what it has is of one moment anyway. It
// is called again after a short while, for ten seconds or so.
func Steady(ctx context.Context, fsys durable.FS, path string, read func(Stamp) (final bool, err error)) error {
	const tries = 1000
	for try := range tries {
		before, err := StampOf(fsys, path)
		if err != nil {
			return err
		}
		final, err := read(before)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		after, stampErr := StampOf(fsys, path)
		switch {
		case stampErr != nil:
			return stampErr
		case after == before || final && err == nil:
			return err
		}
		if err := Pause(ctx, try); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: %w", path, ErrRestless)
}

// ErrRestless is what Steady gives up with.
var ErrRestless = errors.New("others write to it without a pause")

// Pause waits a little for others who write, longer with each try, or until ctx ends, and returns its cause.
func Pause(ctx context.Context, try int) error {
	return durable.Wait(ctx, time.Duration(min(try+1, 10))*time.Millisecond)
}

// Reading says how a database is read.
type Reading struct {
	// Copy asks for a copy also where the file itself could be read, for who wants to change it.
	Copy bool
	// Wait waits until nobody in this process writes to the database any more. Without it, what this process writes is read
	// through SQLite (Shared), which leaves no trace either: the files beside the database are there already.
	Wait bool
}

// Read opens a database for reading, as the stamp describes it, without a trace: nothing beside it is made, changed or
// locked. What the file had at that moment is only certain if it has the same stamp afterwards; see Kind and Steady.
// A copy is made only where it must be, since a database may be large.
func Read(path string, s Stamp, r Reading) (*DB, error) {
	id := idOf(s.DB)
	if !r.Copy && !s.pending() && (r.Wait || !inUse.written(id)) {
		db, err := open(path, 1, url.Values{"mode": {"ro"}, "immutable": {"1"}})
		if err == nil {
			db.Kind = Still
		}
		return db, err
	}
	release, ok := inUse.copy(id, r.Wait)
	if !ok {
		return open(path, 1, url.Values{"mode": {"ro"}})
	}
	defer release()
	return openCopy(path)
}

// openCopy opens a copy of a database with what was not written into it yet.
func openCopy(path string) (db *DB, err error) {
	temp, err := os.MkdirTemp("", "treeline-database-")
	if err != nil {
		return nil, err
	}
	remove := func() error { return os.RemoveAll(temp) }
	defer func() {
		if err != nil {
			err = errors.Join(err, remove())
		}
	}()
	to := filepath.Join(temp, filepath.Base(path))
	// The database comes last: what was checkpointed meanwhile is then in one of the two.
	for _, suffix := range append(journals[:len(journals):len(journals)], "") {
		if err := copyFile(path+suffix, to+suffix); err != nil && (suffix == "" || !errors.Is(err, fs.ErrNotExist)) {
			return nil, err
		}
	}
	if db, err = open(to, 1, url.Values{"mode": {"rw"}}); err != nil {
		return nil, err
	}
	db.Kind, db.done = Copied, remove
	return db, nil
}

// Plain os calls: the copy lies in a temporary folder and need not survive anything.
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
