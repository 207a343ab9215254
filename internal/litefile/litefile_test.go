package litefile

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/durable"
)

// write opens a database for writing and puts a table with one row into it.
func write(t *testing.T, path string, wal bool) *DB {
	t.Helper()
	db, err := Write(durable.OS{}, path, Writing{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if wal {
		if err := db.UseWAL(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
	do(t, db.DB, `CREATE TABLE words (word TEXT); INSERT INTO words VALUES ('first')`)
	return db
}

func do(t *testing.T, db *sql.DB, text string) {
	t.Helper()
	if _, err := db.Exec(text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// other opens the database as another program would.
func other(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

func read(t *testing.T, path string, r Reading) *DB {
	t.Helper()
	s, err := StampOf(durable.OS{}, path)
	if err != nil {
		t.Fatal(err)
	}
	db, err := Read(path, s, r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func count(t *testing.T, db *DB) (n int) {
	t.Helper()
	if err := db.QueryRow(`SELECT count(*) FROM words`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// files returns everything that can be seen of a folder.
func files(t *testing.T, dir string) map[string]durable.Info {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]durable.Info{}
	for _, e := range entries {
		if all[e.Name()], err = (durable.OS{}).Stat(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// A database can have any name, and a new one is private.
func TestWriteMakes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"plain.db", "a ?mode=memory#%20.db", "new/folder/ü.db"} {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" && name != "plain.db" {
				name = "ü %20#.db" // other characters cannot be in a name
			}
			path := filepath.Join(t.TempDir(), name)
			if err := write(t, path, true).Close(); err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if runtime.GOOS != "windows" && info.Mode() != 0o600 {
				t.Errorf("the database has the mode %v", info.Mode())
			}
			if n := count(t, read(t, path, Reading{})); n != 1 {
				t.Errorf("%d rows", n)
			}
		})
	}
}

func TestRelativePath(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := write(t, "here.db", false).Close(); err != nil {
		t.Fatal(err)
	}
	if n := count(t, read(t, "here.db", Reading{})); n != 1 {
		t.Errorf("%d rows", n)
	}
}

// Reading a database changes nothing, in its folder or in that for temporary files, whatever state the database is in.
func TestReadLeavesNoTrace(t *testing.T) {
	for _, c := range []struct {
		name      string
		wal, open bool // another program has it open
		reading   Reading
		kind      Kind
	}{
		{name: "rollback journal", kind: Still},
		{name: "wal, closed", wal: true, kind: Still},
		{name: "wal, open", wal: true, open: true, kind: Copied},
		{name: "a copy on request", reading: Reading{Copy: true}, kind: Copied},
		{name: "a copy on request, waiting", reading: Reading{Copy: true, Wait: true}, kind: Copied},
	} {
		t.Run(c.name, func(t *testing.T) {
			temp := t.TempDir()
			t.Setenv("TMPDIR", temp)
			t.Setenv("TMP", temp)
			path := filepath.Join(t.TempDir(), "a.db")
			if err := write(t, path, c.wal).Close(); err != nil {
				t.Fatal(err)
			}
			want := 1
			if c.open {
				do(t, other(t, path), `INSERT INTO words VALUES ('second')`)
				want = 2
			}
			before := files(t, filepath.Dir(path))
			db := read(t, path, c.reading)
			if n := count(t, db); n != want || db.Kind != c.kind {
				t.Errorf("%d rows, want %d; kind %v, want %v", n, want, db.Kind, c.kind)
			}
			if c.kind == Copied {
				do(t, db.DB, `INSERT INTO words VALUES ('of the copy')`)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			if diff := difftest.Diff(before, files(t, filepath.Dir(path))); diff != "" {
				t.Errorf("its folder changed:\n%s", diff)
			}
			if left := files(t, temp); len(left) > 0 {
				t.Errorf("left over: %v", left)
			}
		})
	}
}

// A database that this process writes is read through SQLite, even with a pending journal.
func TestReadBesideWriter(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	w := write(t, path, true)
	r := read(t, path, Reading{})
	if n := count(t, r); n != 1 || r.Kind != Shared {
		t.Errorf("%d rows, kind %v", n, r.Kind)
	}
	do(t, w.DB, `INSERT INTO words VALUES ('second')`)
	if n := count(t, r); n != 2 {
		t.Errorf("%d rows after another one was written", n)
	}
}

// Reading a database that this process writes does not release its locks, although closing any descriptor would. A child
// process checks them.
func TestReadingTakesNoLocks(t *testing.T) {
	t.Parallel()
	if path := os.Getenv("LITEFILE_CHILD"); path != "" {
		_, err := other(t, path).Exec(`INSERT INTO words VALUES ('of the child')`)
		if !IsBusy(err) {
			t.Fatalf("the child could write while its parent did: %v", err)
		}
		return
	}
	path := filepath.Join(t.TempDir(), "a.db")
	w := write(t, path, false) // with a write-ahead log the lock is on another file
	err := w.Transact(t.Context(), func(tx *sql.Tx) error {
		if _, err := tx.Exec(`INSERT INTO words VALUES ('second')`); err != nil {
			return err
		}
		for range 3 {
			r := read(t, path, Reading{Copy: true})
			if n := count(t, r); n != 1 {
				t.Errorf("%d rows are seen before the second is written", n)
			}
			if err := r.Close(); err != nil {
				return err
			}
		}
		child := exec.Command(os.Args[0], "-test.run=^TestReadingTakesNoLocks$")
		child.Env = append(os.Environ(), "LITEFILE_CHILD="+path)
		out, err := child.CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A transaction that returns an error changes nothing.
func TestTransact(t *testing.T) {
	t.Parallel()
	db := write(t, filepath.Join(t.TempDir(), "a.db"), false)
	no := errors.New("no")
	err := db.Transact(t.Context(), func(tx *sql.Tx) error {
		if _, err := tx.Exec(`DELETE FROM words`); err != nil {
			return err
		}
		return no
	})
	if n := count(t, db); err != no || n != 1 {
		t.Errorf("%v; %d rows", err, n)
	}
}

// The journal mode cannot change while other connections read, so UseWAL waits.
func TestUseWAL(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	db := write(t, path, false)
	rows, err := other(t, path).Query(`SELECT word FROM words`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	rows.Next()
	if err := db.UseWAL(t.Context(), 0); !IsBusy(err) {
		t.Errorf("while another reads: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	cancel(gone)
	if err := db.UseWAL(ctx, time.Hour); !errors.Is(err, gone) && !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	rows.Close()
	if err := db.UseWAL(t.Context(), 0); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	db, err := Memory()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := db.Ping(); err == nil {
		t.Error("it is open")
	}
}

// With KeepLog the log stays after Close, and its content is in the database.
func TestKeepLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a.db")
	db, err := Write(durable.OS{}, path, Writing{Connections: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.UseWAL(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	do(t, db.DB, `CREATE TABLE words (word TEXT); INSERT INTO words VALUES ('first'), ('second')`)
	if err := db.Transact(t.Context(), func(*sql.Tx) error { return db.QueryRow(`SELECT 1`).Err() }); err != nil {
		t.Fatal(err) // both connections are in use
	}
	db.KeepLog()
	for range 2 {
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if files(t, dir)["a.db-wal"].Size == 0 {
		t.Error("the log is gone")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	alone := filepath.Join(t.TempDir(), "b.db")
	if err := os.WriteFile(alone, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{alone, path} {
		if n := count(t, read(t, p, Reading{})); n != 2 {
			t.Errorf("%s: %d rows", p, n)
		}
	}
}

// Share reads what other connections write, and cannot write. No schema is trusted.
func TestShare(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	write(t, path, true)
	db, err := Share(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if n := count(t, db); n != 1 {
		t.Errorf("%d rows", n)
	}
	if _, err := db.Exec(`DELETE FROM words`); !IsUnwritable(err) {
		t.Errorf("writing: %v", err)
	}
	var trusted bool
	if err := db.QueryRow(`PRAGMA trusted_schema`).Scan(&trusted); err != nil || trusted {
		t.Errorf("the schema is trusted: %v, %v", trusted, err)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	garbage := filepath.Join(dir, "garbage.db")
	if err := os.WriteFile(garbage, []byte("this is not a database, but it is long enough to be one"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := read(t, garbage, Reading{}).Exec(`SELECT * FROM sqlite_master`); !IsCorrupt(err) || !IsSQLite(err) || IsBusy(err) {
		t.Errorf("garbage: %v", err)
	}
	if _, err := StampOf(durable.OS{}, dir); err == nil || IsSQLite(err) {
		t.Errorf("a folder: %v", err)
	}
	if _, err := StampOf(durable.OS{}, filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing: %v", err)
	}
	if _, err := Write(durable.OS{}, filepath.Join(garbage, "below"), Writing{}); err == nil {
		t.Error("a database was made in a file")
	}
}
