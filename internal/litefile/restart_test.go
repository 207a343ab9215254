package litefile

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/internal/durable"
)

// statFS calls after when a file was looked at.
type statFS struct {
	durable.OS
	after func(name string)
}

func (s statFS) Stat(name string) (durable.Info, error) {
	info, err := s.OS.Stat(name)
	s.after(name)
	return info, err
}

// words adds words of about a page each.
const words = `INSERT INTO words SELECT hex(zeroblob(1900)) || i FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT i FROM n)`

// A program makes the database longer as it moves its log into it, and begins the log anew with a transaction that it has not ended yet. A
// reader that looked at the database before that, and at the log after it, sees all pages.
func TestFollowGrownAndRestarted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	db := other(t, path)
	do(t, db, `PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = 1; CREATE TABLE words (word TEXT);
		INSERT INTO words VALUES ('one'); PRAGMA wal_checkpoint(TRUNCATE);`+fmt.Sprintf(words, 20))
	moved := false
	fsys := statFS{after: func(name string) {
		if name == path && !moved {
			moved = true
			do(t, db, `PRAGMA wal_checkpoint(PASSIVE); BEGIN; `+fmt.Sprintf(words, 200)) // more than it keeps in memory
		}
	}}
	f := Follow(fsys, path)
	defer f.Close()
	if got := seen(t, f); len(got) != 21 {
		t.Errorf("%d words, want 21", len(got))
	}
	if f.wal.frames != 0 || f.wal.salts == [8]byte{} {
		t.Errorf("%d frames: the log was not begun anew", f.wal.frames)
	}
	do(t, db, `COMMIT`)
	if got := seen(t, f); len(got) != 221 {
		t.Errorf("%d words after the transaction, want 221", len(got))
	}
}

// Once pages were moved into the database while it was read, the old content of those that changed is not known: it is not
// given as what was there before.
func TestFollowMovedWhileRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	db := other(t, path)
	do(t, db, `PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE words (word TEXT); INSERT INTO words VALUES ('one');
		PRAGMA wal_checkpoint(TRUNCATE); INSERT INTO words VALUES ('two')`)
	f := Follow(durable.OS{}, path)
	defer f.Close()
	for calls, moved := 0, false; !moved; {
		seen(t, f) // a copy if that took long; what is read next is then not compared with it
		do(t, db, `INSERT INTO words VALUES ('three')`)
		err := f.Read(t.Context(), func(s *Snapshot) error {
			switch {
			case moved && s.Before != nil:
				t.Error("the content before is given after it was overwritten")
			case !moved && s.Before != nil:
				do(t, db, `PRAGMA wal_checkpoint(PASSIVE)`)
				moved = true
			}
			return nil
		})
		if calls++; err != nil || calls > 1000 {
			t.Fatalf("%v; the content before is never known", err)
		}
	}
}

// A database that had just been written when it was looked at is not read with that stamp, however long the look at its log took:
// a write in between may have the same time.
func TestFollowLookedSlowly(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	db := other(t, path)
	do(t, db, `PRAGMA journal_mode = WAL; CREATE TABLE words (word TEXT)`)
	f := Follow(durable.OS{}, path)
	defer f.Close()
	for {
		do(t, db, `INSERT INTO words VALUES ('one'); PRAGMA wal_checkpoint(TRUNCATE)`)
		s, err := f.look()
		if err != nil {
			t.Fatal(err)
		}
		if f.looked-s.start.DB.Nanos >= int64(racy) {
			continue // the look came late
		}
		time.Sleep(racy)
		if !f.recent(s) {
			t.Error("it may be read")
		}
		return
	}
}
