package history

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// schemaOf returns the text of everything in a database.
func schemaOf(t testing.TB, path string) string {
	t.Helper()
	rows, err := raw(t, path).Query(`SELECT type, name, sql FROM sqlite_master ORDER BY name`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var b strings.Builder
	for rows.Next() {
		var kind, name, text string
		if err := rows.Scan(&kind, &name, &text); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %s\n%s\n\n", kind, name, text)
	}
	return b.String()
}

// TestSchema: a database of ours equals, to the letter, one of omp 13.19, which wrote the golden file.
func TestSchema(t *testing.T) {
	t.Parallel()
	golden, err := os.ReadFile(filepath.Join("testdata", "schema.golden"))
	if err != nil {
		t.Fatal(err)
	}
	path := newPath(t)
	h := open(t, path)
	add(t, h, "hello")
	var mode string
	if err := h.db.QueryRow(`PRAGMA journal_mode`).Scan(&mode); err != nil || mode != "wal" {
		t.Errorf("journal mode %q, %v", mode, err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if got := schemaOf(t, path); got != string(golden) {
		t.Errorf("got\n%s\nwant\n%s", got, golden)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

// TestOlderLayouts: databases of earlier versions of the program become current, with all rows and a filled text index.
func TestOlderLayouts(t *testing.T) {
	t.Parallel()
	const table = `CREATE TABLE history (id INTEGER PRIMARY KEY AUTOINCREMENT, prompt TEXT NOT NULL,
		created_at INTEGER NOT NULL DEFAULT (%s), cwd TEXT);`
	golden, err := os.ReadFile(filepath.Join("testdata", "schema.golden"))
	if err != nil {
		t.Fatal(err)
	}
	for name, setup := range map[string]string{
		"default of a newer SQLite": fmt.Sprintf(table, "unixepoch()") + createIndex + createText + createTrigger,
		"no text index":             createTable,
		"an empty file":             "",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "history.db")
			db := raw(t, path)
			var list []string
			if do(t, db, setup+`PRAGMA user_version = 0`); setup != "" {
				do(t, db, `INSERT INTO history (id, prompt, created_at, cwd) VALUES (7, 'old words', 5, '/w'), (9, 'newer', 6, NULL)`)
				list = []string{"old words"}
			}
			db.Close()

			r, err := openReader(t.Context(), path, dbOptions{})
			if err != nil {
				t.Fatal(err)
			}
			want(t, "read as it is", texts(t, r, Query{Text: "word"}), list...)
			r.Close()

			h := open(t, path)
			want(t, "search", texts(t, h, Query{Text: "word"}), list...)
			add(t, h, "newest words")
			want(t, "search", texts(t, h, Query{Text: "word"}), append([]string{"newest words"}, list...)...)
			if err := h.check(t.Context()); err != nil {
				t.Error(err)
			}
			h.Close()
			if got := schemaOf(t, path); got != string(golden) {
				t.Errorf("got\n%s", got)
			}
		})
	}
}

// TestForeign: a database of a newer program is read if possible, and never written.
func TestForeign(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "history.db")
	db := raw(t, path)
	do(t, db, `CREATE TABLE history (id INTEGER PRIMARY KEY, prompt TEXT UNIQUE, created_at INTEGER, cwd TEXT, use_count INTEGER);`+
		createText+createTrigger+`INSERT INTO history VALUES (1, 'from tomorrow', 5, NULL, 3); PRAGMA user_version = 1`)
	db.Close()
	if _, err := openDB(t.Context(), path, dbOptions{}); !errors.Is(err, ErrForeign) {
		t.Errorf("open: %v", err)
	}
	h, err := openReader(t.Context(), path, dbOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	want(t, "read", texts(t, h, Query{Text: "tom"}), "from tomorrow")

	path = filepath.Join(t.TempDir(), "other.db")
	db = raw(t, path)
	do(t, db, `CREATE TABLE history (something TEXT)`)
	db.Close()
	if _, err := openReader(t.Context(), path, dbOptions{}); !errors.Is(err, ErrForeign) {
		t.Errorf("read: %v", err)
	}
}

// TestNotHistory: a database of another program is neither read nor changed; remains of a history, and an empty database, become a history.
func TestNotHistory(t *testing.T) {
	t.Parallel()
	for name, schema := range map[string]string{
		"tables":         `CREATE TABLE sessions (id TEXT PRIMARY KEY, title TEXT); INSERT INTO sessions VALUES ('s', 't')`,
		"a version":      `CREATE TABLE sessions (id TEXT); PRAGMA user_version = 3`,
		"a journal":      `PRAGMA journal_mode = WAL; CREATE TABLE sessions (id TEXT)`,
		"a similar name": `CREATE TABLE historyx (id TEXT)`,
		"a view":         `CREATE VIEW history AS SELECT 1 AS id, 'p' AS prompt, 2 AS created_at, '' AS cwd`,
		"and a leftover": `CREATE TABLE history_legacy (id TEXT); CREATE TABLE sessions (id TEXT)`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "state.db")
			db := raw(t, path)
			do(t, db, schema)
			db.Close()
			before := listing(t, dir)
			for _, guest := range []bool{false, true} {
				if _, err := openDB(t.Context(), path, dbOptions{Guest: guest}); !errors.Is(err, ErrNotHistory) {
					t.Errorf("open: %v", err)
				}
			}
			if _, err := openReader(t.Context(), path, dbOptions{}); !errors.Is(err, ErrNotHistory) {
				t.Errorf("read: %v", err)
			}
			if after := listing(t, dir); !reflect.DeepEqual(before, after) {
				t.Errorf("before %v, after %v", before, after)
			}
		})
	}
	for name, schema := range map[string]string{
		"empty":    `PRAGMA user_version = 0`,
		"vacuumed": `CREATE TABLE gone (id INTEGER PRIMARY KEY AUTOINCREMENT); DROP TABLE gone; VACUUM`,
		"leftover": `CREATE TABLE history_legacy (id INTEGER PRIMARY KEY)`,
	} {
		t.Run(name, func(t *testing.T) {
			path := newPath(t)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			do(t, raw(t, path), schema)
			h := open(t, path)
			add(t, h, "one")
			want(t, "added", texts(t, h, Query{}), "one")
		})
	}
}
