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

// journals are the suffixes of the journals of a database.
var journals = []string{"-wal", "-journal"}

// Suffixes returns the suffixes of all files of a database, the database itself last. It must be moved last: with a foreign
// journal it would be misread.
func Suffixes() []string { return append(journals[:len(journals):len(journals)], "-shm", "") }

// Stamp shows whether a database changed. A missing journal is a zero Info.
type Stamp struct{ DB, WAL, Journal durable.Info }

// StampOf returns the Stamp of a database; fs.ErrNotExist if there is no database.
func StampOf(fsys durable.FS, path string) (s Stamp, err error) {
	if s.DB, err = stat(fsys, path); err != nil {
		return s, err
	}
	for i, info := range []*durable.Info{&s.WAL, &s.Journal} {
		*info, err = stat(fsys, path+journals[i])
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return s, err
		}
	}
	return s, nil
}

// stat refuses a pipe or device, for which SQLite could wait for ever.
func stat(fsys durable.FS, path string) (durable.Info, error) {
	info, err := fsys.Stat(path)
	if err == nil && !info.Mode.IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: durable.ErrNotRegular}
	}
	return info, err
}

// pending reports whether a journal may hold content. An empty journal was reset and not deleted.
func (s Stamp) pending() bool { return s.WAL.Size > 0 || s.Journal.Size > 0 }

// Steady calls read until the stamp of the database is the same before and after: read then saw one snapshot. It ignores
// errors of read that a change may have caused. read returns final if it saw one snapshot in any case. Steady gives up after
// about ten seconds.
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

// ErrRestless is the error of Steady when it gives up.
var ErrRestless = errors.New("other programs write to it all the time")

// Pause waits for other writers, longer with each try. It returns the cause of ctx when that ends.
func Pause(ctx context.Context, try int) error {
	return durable.Wait(ctx, time.Duration(min(try+1, 10))*time.Millisecond)
}

// Reading are the settings of a database that is opened for reading.
type Reading struct {
	// Copy forces a copy, for a caller that changes it.
	Copy bool
	// Wait waits until this process does not write to the database. Without it, a database that this process writes is
	// read as Shared. That leaves no trace either, since the other files exist already.
	Wait bool
}

// Read opens a database for reading without a trace: it creates, changes and locks nothing. What is read is valid only if the
// stamp is the same afterwards; see Kind and Steady. It makes a copy only if it must.
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

// openCopy opens a copy of a database and its journals.
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
	// The database comes last: pages that are checkpointed meanwhile are then in one of the two.
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

// copyFile makes a temporary copy, which need not be durable.
func copyFile(from, to string) error {
	in, err := durable.OpenRegular(from)
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
