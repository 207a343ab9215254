package litefile

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

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
	looks := 0
	fsys := statFS{after: func(name string) {
		if name != path {
			return
		}
		if looks++; looks == 1 {
			do(t, db, `PRAGMA wal_checkpoint(PASSIVE); BEGIN; `+fmt.Sprintf(words, 200)) // more than it keeps in memory
		}
	}}
	f := Follow(fsys, path)
	defer f.Close()
	if got := seen(t, f); len(got) != 21 {
		t.Errorf("%d words, want 21", len(got))
	}
	if looks < 3 || f.wal.frames != 0 || f.wal.salts == [8]byte{} {
		t.Errorf("%d looks, %d frames: the log was not begun anew", looks, f.wal.frames)
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
	seen(t, f)
	do(t, db, `CREATE TABLE more (word TEXT); INSERT INTO more VALUES ('three')`)
	var before []bool
	err := f.Read(t.Context(), func(s *Snapshot) error {
		if before = append(before, s.Before != nil); len(before) == 1 {
			do(t, db, `PRAGMA wal_checkpoint(PASSIVE)`)
		}
		return nil
	})
	if want := []bool{true, false}; err != nil || !slices.Equal(before, want) {
		t.Errorf("the content before is known in reads %v, want %v; %v", before, want, err)
	}
}
