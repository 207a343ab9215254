package litefile

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/durable"
)

// seen returns what a followed database holds, read by a query and by a scan.
func seen(t *testing.T, f *Followed) (words []string) {
	t.Helper()
	err := f.Read(t.Context(), func(s *Snapshot) error {
		if words = nil; s == nil {
			return nil
		}
		db, err := s.DB()
		if err != nil {
			return err
		}
		rows, err := db.Query(`SELECT word FROM words ORDER BY rowid`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var word string
			if err := rows.Scan(&word); err != nil {
				return err
			}
			words = append(words, word)
		}
		var root uint32
		if err := db.QueryRow(`SELECT rootpage FROM sqlite_master WHERE name = 'words'`).Scan(&root); err != nil {
			return errors.Join(rows.Err(), err)
		}
		var scanned []string
		err = s.Table(root, func(r *Row) error {
			v, err := r.Value(0)
			if kind, n := r.Len(0); err == nil && (kind != Text || n != len(v.([]byte))) {
				err = fmt.Errorf("kind %d, length %d", kind, n)
			}
			if err == nil {
				scanned = append(scanned, string(v.([]byte)))
			}
			return err
		})
		if errors.Is(err, errors.ErrUnsupported) && s.copied != nil {
			err, scanned = nil, words
		}
		if !slices.Equal(scanned, words) {
			t.Errorf("scanned %.200q, queried %.200q", scanned, words)
		}
		return errors.Join(rows.Err(), err)
	})
	if err != nil {
		t.Fatal(err)
	}
	return words
}

// Committed data is seen, with and without a log, also after the log was moved into the database; uncommitted data is not. Nothing beside
// the database changes.
func TestFollow(t *testing.T) {
	t.Parallel()
	for _, size := range []int{512, 65536} {
		dir := t.TempDir()
		path := filepath.Join(dir, "a.db")
		f := Follow(durable.OS{}, path)
		defer f.Close()
		if err := f.Read(t.Context(), func(*Snapshot) error { return nil }); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("no database: %v", err)
		}
		db := other(t, path)
		db.SetMaxOpenConns(1)
		do(t, db, fmt.Sprintf(`PRAGMA page_size = %d; PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE words (word TEXT)`, size))
		var want []string
		for n := range 24 {
			word := strings.Repeat(fmt.Sprint(n, " "), n*n)
			if word == "" {
				word = "first"
			}
			if _, err := db.Exec(`INSERT INTO words VALUES (?)`, word); err != nil {
				t.Fatal(err)
			}
			want = append(want, word)
			switch n % 10 {
			case 3:
				do(t, db, `PRAGMA wal_checkpoint(PASSIVE)`)
			case 6:
				do(t, db, `PRAGMA wal_checkpoint(TRUNCATE)`)
			case 8:
				tx, err := db.Begin()
				if err != nil {
					t.Fatal(err)
				}
				if _, err := tx.Exec(`DELETE FROM words`); err != nil {
					t.Fatal(err)
				}
				if got := seen(t, f); !slices.Equal(got, want) {
					t.Errorf("before the end of a transaction: %d words", len(got))
				}
				if err := tx.Rollback(); err != nil {
					t.Fatal(err)
				}
			}
			before := files(t, dir)
			if got := seen(t, f); !slices.Equal(got, want) {
				t.Fatalf("page size %d, step %d: %d words, want %d", size, n, len(got), len(want))
			}
			if diff := difftest.Diff(before, files(t, dir)); diff != "" {
				t.Fatalf("step %d: its folder changed:\n%s", n, diff)
			}
		}
		do(t, db, `VACUUM; PRAGMA journal_mode = DELETE`)
		if got := seen(t, f); !slices.Equal(got, want) {
			t.Errorf("without a log: %d words", len(got))
		}
	}
}

// The pages that a transaction wrote are known, and their earlier content.
func TestFollowWrote(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	db := other(t, path)
	do(t, db, `PRAGMA journal_mode = WAL; CREATE TABLE words (word TEXT); INSERT INTO words VALUES ('one'), ('two')`)
	f := Follow(durable.OS{}, path)
	defer f.Close()
	seen(t, f)
	do(t, db, `PRAGMA wal_checkpoint(TRUNCATE)`)
	seen(t, f) // the log is empty now
	do(t, db, `DELETE FROM words WHERE word = 'one'`)
	on := func(s *Snapshot, page uint32) (words []string) {
		s.LeafRows(page, func(r *Row) {
			if v, err := r.Value(0); err == nil {
				words = append(words, fmt.Sprintf("%s", v))
			}
		})
		return words
	}
	err := f.Read(t.Context(), func(s *Snapshot) error {
		if len(s.Wrote) != 1 || s.Before == nil {
			t.Fatalf("wrote %v, before %v", s.Wrote, s.Before)
		}
		if before, after := on(s.Before, s.Wrote[0]), on(s, s.Wrote[0]); !slices.Equal(before, []string{"one", "two"}) || !slices.Equal(after, []string{"two"}) {
			t.Errorf("before %q, after %q", before, after)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A rollback journal that a crash left is played back in a copy. A file that is not a database is reported as such.
func TestFollowOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a.db")
	db := other(t, path)
	db.SetMaxOpenConns(1)
	do(t, db, `PRAGMA cache_size = 1; CREATE TABLE words (word TEXT); INSERT INTO words SELECT 'w' FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) SELECT i FROM n)`)
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(`UPDATE words SET word = 'x' || rowid || hex(zeroblob(200))`); err != nil {
		t.Fatal(err)
	}
	crashed := filepath.Join(t.TempDir(), "a.db")
	for _, suffix := range []string{"", "-journal"} {
		text, err := os.ReadFile(path + suffix)
		if err == nil {
			err = os.WriteFile(crashed+suffix, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
		t.Fatal(err)
	}
	f := Follow(durable.OS{}, crashed)
	defer f.Close()
	if got := seen(t, f); len(got) != 3000 || got[2999] != "w" {
		t.Errorf("%d words", len(got))
	}
	for name, text := range map[string]string{"garbage": strings.Repeat("no database ", 100), "empty": ""} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := Follow(durable.OS{}, path).Read(context.Background(), func(s *Snapshot) error {
			if s != nil {
				t.Errorf("%s has pages", name)
			}
			return nil
		})
		if text != "" && !errors.Is(err, ErrNotDatabase) || text == "" && err != nil {
			t.Errorf(`%s: %v; want not (text != "" && !errors.Is(err, ErrNotDatabase)), not (text == "" && err != nil)`, name, err)
		}
	}
}

// A damaged page is an error and no panic, whatever it holds.
func TestScanDamaged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	db := other(t, path)
	do(t, db, `CREATE TABLE words (word TEXT); INSERT INTO words VALUES ('one'), (hex(zeroblob(9000))), ('three')`)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(t.TempDir(), "b.db")
	for at := 4096; at < len(text); at += 97 {
		b := slices.Clone(text)
		for k := range 5 {
			b[(at+k)%len(b)] ^= byte(0xff >> k)
		}
		if err := os.WriteFile(broken, b, 0o600); err != nil {
			t.Fatal(err)
		}
		f := &Followed{path: broken, fsys: durable.OS{}}
		s, err := f.begin(Stamp{DB: durable.Info{Size: int64(len(b))}})
		if err != nil {
			t.Fatal(err)
		}
		_ = s.Table(2, func(r *Row) error { _, err := r.Value(0); return err })
		for page := range uint32(8) {
			s.LeafRows(page, func(r *Row) { _, _ = r.Value(0) })
		}
		f.drop()
	}
}

// A tree in which the same page occurs many times is damaged. The walk ends early; a few pages could otherwise make it last for years.
func TestScanShared(t *testing.T) {
	t.Parallel()
	const pageSize, levels = 512, 8
	file := make([]byte, pageSize*(levels+1)) // the first page has no table
	for n := 2; n <= levels; n++ {
		page := file[pageSize*(n-1):]
		page[0] = innerPage
		binary.BigEndian.PutUint16(page[3:], 2) // cells, and one more page at the end
		binary.BigEndian.PutUint32(page[8:], uint32(n+1))
		for cell := range 2 {
			binary.BigEndian.PutUint16(page[12+2*cell:], uint16(500+4*cell))
			binary.BigEndian.PutUint32(page[500+4*cell:], uint32(n+1))
		}
	}
	leaf := file[pageSize*levels:]
	leaf[0] = leafPage
	binary.BigEndian.PutUint16(leaf[3:], 1)
	binary.BigEndian.PutUint16(leaf[8:], 500)
	copy(leaf[500:], []byte{3, 1, 2, 1, 7}) // three bytes of payload, row 1, a header of two bytes, an integer of one byte
	s := &Snapshot{file: bytes.NewReader(file), pageSize: pageSize, count: levels + 1}
	rows := 0
	visit := func(*Row) error {
		if rows++; rows > levels+1 {
			return errors.New("there are more rows than pages")
		}
		return nil
	}
	if err := s.Table(2, visit); !errors.Is(err, errDamaged) {
		t.Errorf("all rows: %v, want the error errDamaged", err)
	}
	rows = 0
	if err := s.RowsOn(2, []uint32{levels + 1}, visit); !errors.Is(err, errDamaged) {
		t.Errorf("rows on a page: %v, want the error errDamaged", err)
	}
}
