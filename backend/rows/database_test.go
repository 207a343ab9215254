package rows_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/rows"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

// A schema of its own, with everything that a description can express.
const ddl = `
CREATE TABLE talk (name TEXT PRIMARY KEY, title TEXT NOT NULL, cost REAL DEFAULT 0 NOT NULL, secret TEXT, changed INTEGER NOT NULL, extra TEXT);
CREATE TABLE line (id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, talk TEXT NOT NULL, said INTEGER NOT NULL, changed INTEGER NOT NULL, mood TEXT DEFAULT 'calm', data TEXT NOT NULL);
CREATE TABLE piece (id TEXT PRIMARY KEY, line TEXT NOT NULL, talk TEXT NOT NULL, changed INTEGER NOT NULL, data TEXT NOT NULL);
CREATE INDEX line_talk ON line (talk, said);
CREATE INDEX piece_talk ON piece (talk);
CREATE TABLE version (id TEXT);
INSERT INTO version VALUES ('one');
`

func description() rows.Tables {
	return rows.Tables{
		Agent:   "the agent",
		Session: rows.Table{Name: "talk", ID: "name", Updated: "changed", Unit: time.Second, JSON: []string{"extra"}, Hidden: []string{"secret"}},
		Message: rows.Table{Name: "line", ID: "key", Session: "talk", Order: []string{"said", "key"}, JSON: []string{"data"},
			Hidden: []string{"id"}, Updated: "changed", Unit: time.Second},
		Part: rows.Table{Name: "piece", ID: "id", Session: "talk", Message: "line", Order: []string{"id"}, JSON: []string{"data"},
			Updated: "changed", Unit: time.Second},
		Migrations: `SELECT id FROM version`, Known: []string{"one"},
	}
}

// program opens the database as the agent does.
func program(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path)+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

func run(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.Exec(query, args...); err != nil {
		t.Fatal(err)
	}
}

func fresh(t *testing.T) (path string, db *sql.DB) {
	path = filepath.Join(t.TempDir(), "a.db")
	db = program(t, path)
	run(t, db, ddl)
	return path, db
}

// Records are rows: what INSERT fills in is left out, JSON stays as it is.
func TestRecords(t *testing.T) {
	t.Parallel()
	path, db := fresh(t)
	run(t, db, `INSERT INTO talk (name, title, secret, changed, extra) VALUES ('t1', 'say "x"', 'hush', 100, '{"a": 1,
 "b":[]}')`)
	run(t, db, `INSERT INTO talk (name, title, cost, changed) VALUES ('t2', '', 0.25, 7), ('a/b', 'no name of a log', 1, 1)`)
	run(t, db, `INSERT INTO line (key, talk, said, changed, data, mood) VALUES ('k2', 't1', 5, 6, '{}', NULL), ('k1', 't1', 5, 5, '[ 1 ]', 'calm'), ('k0', 't1', 9, 5, '', 'sad')`)
	run(t, db, `INSERT INTO piece VALUES ('p2', 'k1', 't1', 8, '{"t":2}'), ('p1', 'k1', 't1', 7, '{"t":1}'), ('p3', 'gone', 't1', 7, '3')`)
	b := rows.New(rows.NewDatabase(path, description(), rows.Options{}), ".jsonl", true)
	defer b.Close()
	at, err := b.Stat(t.Context(), "t1.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	got, err := read(t, b, at, 0)
	want := []string{
		`{"talk":{"name":"t1","title":"say \"x\"","changed":100,"extra":{"a": 1,  "b":[]}}}`,
		`{"line":{"key":"k1","talk":"t1","said":5,"changed":5,"data":[ 1 ]},"piece":[{"id":"p1","line":"k1","talk":"t1","changed":7,"data":{"t":1}},{"id":"p2","line":"k1","talk":"t1","changed":8,"data":{"t":2}}]}`,
		`{"line":{"key":"k2","talk":"t1","said":5,"changed":6,"mood":null,"data":{}},"piece":[]}`,
		`{"line":{"key":"k0","talk":"t1","said":9,"changed":5,"mood":"sad","data":""},"piece":[]}`,
	}
	if diff := difftest.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s; want diff == \"\", no error", err, diff)
	}
	if want := time.Unix(100, 3); !at.Time.Equal(want) { // the last message is the third row
		t.Errorf("time %v, want %v", at.Time, want)
	}
	var names []string
	for l, err := range b.List(t.Context(), "") {
		now, statErr := b.Stat(t.Context(), l.Name)
		if err != nil || statErr != nil || l != now {
			t.Errorf("listed %v, %v; is %v, %v", l, err, now, statErr)
		}
		names = append(names, l.Name)
	}
	if !slices.Equal(names, []string{"t1.jsonl", "t2.jsonl"}) {
		t.Errorf("names %q", names)
	}
}

// Whatever the program does, a list equals that of a backend that sees the database for the first time, and agrees with each loaded
// session.
func TestListsFollow(t *testing.T) {
	t.Parallel()
	path, db := fresh(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	b := rows.New(rows.NewDatabase(path, description(), rows.Options{}), "", true)
	defer b.Close()
	long := strings.Repeat("long ", 4000)
	steps := []func(n int){
		func(n int) {
			run(t, db, `INSERT OR IGNORE INTO talk (name, title, changed) VALUES (?, ?, ?)`, fmt.Sprint("t", rnd.IntN(40)), long[:rnd.IntN(2000)], n)
		},
		func(n int) {
			run(t, db, `INSERT OR REPLACE INTO line (key, talk, said, changed, data) VALUES (?, ?, ?, ?, json_quote(?))`, fmt.Sprint("k", n), fmt.Sprint("t", rnd.IntN(40)), rnd.IntN(9), n, long[:rnd.IntN(len(long))])
		},
		func(n int) {
			run(t, db, `INSERT OR REPLACE INTO piece VALUES (?, (SELECT key FROM line ORDER BY id LIMIT 1 OFFSET ?), (SELECT talk FROM line ORDER BY id LIMIT 1 OFFSET ?), ?, json_quote(?))`, fmt.Sprint("p", n), n%7%(1+n/20), n%7%(1+n/20), n, long[:rnd.IntN(len(long))])
		},
		func(n int) {
			run(t, db, `UPDATE piece SET changed = ?, data = '7' WHERE id = ?`, n, fmt.Sprint("p", rnd.IntN(n+1)))
		},
		func(n int) { run(t, db, `DELETE FROM line WHERE key = ?`, fmt.Sprint("k", rnd.IntN(n+1))) },
		func(n int) { run(t, db, `DELETE FROM piece WHERE id = ?`, fmt.Sprint("p", rnd.IntN(n+1))) },
		func(n int) { run(t, db, `DELETE FROM talk WHERE name = ?`, fmt.Sprint("t", rnd.IntN(40))) },
		func(n int) {
			run(t, db, `UPDATE talk SET changed = ? WHERE name = ?`, n, fmt.Sprint("t", rnd.IntN(40)))
		},
	}
	run(t, db, `INSERT INTO line (key, talk, said, changed, data) VALUES ('k', 't0', 1, 1, '1')`)
	list := func(b backend.Backend) (logs []backend.Log) {
		for l, err := range b.List(t.Context(), "") {
			if err != nil {
				t.Fatal(err)
			}
			logs = append(logs, l)
		}
		return logs
	}
	for n := range soaktest.Part(300, 120) {
		for range 1 + rnd.IntN(3) {
			steps[rnd.IntN(len(steps))](n)
		}
		switch {
		case n%100 == 50:
			run(t, db, `PRAGMA wal_checkpoint(TRUNCATE)`)
		case n == 210:
			run(t, db, `VACUUM`)
		case n == 260:
			run(t, db, `ALTER TABLE line ADD COLUMN later TEXT DEFAULT 'x'`)
		}
		got := list(b)
		other := rows.New(rows.NewDatabase(path, description(), rows.Options{}), "", true)
		if diff := difftest.Diff(list(other), got); diff != "" {
			t.Fatalf("step %d: (-new +followed):\n%s", n, diff)
		}
		if n%20 == 0 {
			for _, l := range got {
				if now, err := other.Stat(t.Context(), l.Name); err != nil || now != l {
					t.Fatalf("step %d: listed %v, loaded %v, %v", n, l, now, err)
				}
			}
		}
		other.Close()
	}
}

// files returns the files of a folder with size, time and content.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, e := range list {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		found[e.Name()] = fmt.Sprint(info.Size(), info.ModTime(), info.Mode(), string(text))
	}
	return found
}

// A session is written in one transaction, or not at all.
func TestDatabaseWrites(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	path, db := fresh(t)
	d := description()
	d.Complete = func(ctx context.Context, tx *sql.Tx, s rows.Values) (rows.Values, error) {
		return rows.Values{{Column: "secret", Value: fmt.Sprint("of ", s.Get("name"))}}, nil
	}
	b := rows.New(rows.NewDatabase(path, d, rows.Options{Clock: func() time.Time { return time.Unix(200, 0) }}), "", false)
	defer b.Close()
	header := []byte(`{"talk":{"name":"t1","title":"x","changed":100}}`)
	one := []byte(`{"line":{"key":"k1","talk":"t1","said":1,"changed":1,"data":{"a": 1}},"piece":[{"id":"p1","line":"k1","talk":"t1","changed":1,"data":1}]}`)
	two := []byte(`{"line":{"key":"k2","talk":"t1","said":2,"changed":2,"data":2},"piece":[]}`)
	at, err := b.Create(ctx, "t1", header, one)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Create(ctx, "t1", header); !errors.Is(err, backend.ErrExist) {
		t.Errorf("created again: %v", err)
	}
	now, err := b.Append(ctx, at, two)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := read(t, b, at, 0); err != nil || len(got) != 2 {
		t.Errorf("what was seen before: %q, %v", got, err)
	}
	want := []string{`{"talk":{"name":"t1","title":"x","changed":200}}`, string(one), string(two)}
	if got, err := read(t, b, now, 0); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v\n%s; want no error, slices.Equal(got, want)", err, difftest.Diff(want, got))
	}
	if _, err := b.Append(ctx, at, two); !errors.Is(err, backend.ErrConflict) {
		t.Errorf("appended to what it was: %v", err)
	}
	for _, bad := range []string{
		`{"line":{"key":"k3","talk":"t1","said":3,"changed":3,"mood":"calm","data":3},"piece":[]}`, // a default value
		`{"line":{"key":"k3","talk":"t1","said":3,"changed":3,"data":3},"piece":[],"more":1}`,
		`{"line":{"key":"k3","talk":"t1","said":3,"changed":3,"data":3,"none":1},"piece":[]}`,
		`{"line":{"key":"k3","talk":"t2","said":3,"changed":3,"data":3},"piece":[]}`,
		`{"talk":{}}`,
	} {
		if _, err := b.Append(ctx, now, []byte(bad)); !errors.Is(err, backend.ErrRecord) {
			t.Errorf("%s: %v; want the error backend.ErrRecord", bad, err)
		}
	}
	if now, err = b.Replace(ctx, now, []byte(`{"talk":{"name":"t1","title":"y","cost":0.5,"changed":100}}`), two); err != nil {
		t.Fatal(err)
	}
	var secret, left string
	if err := db.QueryRow(`SELECT secret, (SELECT group_concat(key) FROM line) || (SELECT count(*) FROM piece) FROM talk WHERE title = 'y' AND cost = 0.5`).Scan(&secret, &left); err != nil || secret != "of t1" || left != "k20" {
		t.Errorf(`%q, %q, %v; want no error, secret == "of t1", left == "k20"`, secret, left, err)
	}
	run(t, db, `INSERT INTO version VALUES ('of tomorrow')`)
	if _, err := b.Append(ctx, now, one); !errors.Is(err, backend.ErrReadOnly) || !strings.Contains(err.Error(), "of tomorrow") {
		t.Errorf("a migration that is not known: %v", err)
	}
	run(t, db, `DELETE FROM version WHERE id <> 'one'`)
	if err := b.Remove(ctx, now); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := db.QueryRow(`SELECT (SELECT count(*) FROM talk) + (SELECT count(*) FROM line) + (SELECT count(*) FROM piece)`).Scan(&n); err != nil || n != 0 {
		t.Errorf("%d rows are left, %v", n, err)
	}
}

// A database that the program has not made is a place without sessions, and is not made.
func TestNoDatabase(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "none", "a.db")
	b := rows.New(rows.NewDatabase(path, description(), rows.Options{}), "", false)
	defer b.Close()
	for l, err := range b.List(t.Context(), "") {
		t.Errorf("%v, %v; want no session", l, err)
	}
	if _, err := b.Stat(t.Context(), "t1"); !errors.Is(err, backend.ErrNotExist) {
		t.Error(err)
	}
	if _, err := b.Create(t.Context(), "t1", []byte(`{"talk":{"name":"t1","title":"x","changed":1}}`)); !errors.Is(err, backend.ErrReadOnly) {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(path)); err == nil {
		t.Error("it was made")
	}
}

// A database that cannot be listed is reported with its path.
func TestDamagedDatabaseIsNamed(t *testing.T) {
	t.Parallel()
	whole := func(t *testing.T, ddl string) []byte {
		path := filepath.Join(t.TempDir(), "a.db")
		db := program(t, path)
		run(t, db, ddl)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	for name, content := range map[string][]byte{
		"the first 100 bytes": whole(t, ddl)[:100],
		"another column":      whole(t, `CREATE TABLE talk (x); CREATE TABLE line (x); CREATE TABLE piece (x);`),
		"a text":              []byte("no database"),
	} {
		path := filepath.Join(t.TempDir(), "a.db")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		b := rows.New(rows.NewDatabase(path, description(), rows.Options{}), "", true)
		var reported []string
		for _, err := range b.List(t.Context(), "") {
			reported = append(reported, fmt.Sprint(err))
		}
		if len(reported) != 1 || !strings.Contains(reported[0], path) {
			t.Errorf("%s: the list reports %q; want an error with %s", name, reported, path)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}
