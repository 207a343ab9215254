package rows_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/all"
	"github.com/treeline-dev/treeline/backend/rows"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/watch"
)

// eachAgent runs a test for each agent with a new database.
func eachAgent(t *testing.T, test func(t *testing.T, name string, a agent, home, path string)) {
	t.Parallel()
	for _, name := range soaktest.Share(t, slices.Sorted(maps.Keys(agents)), 2) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := agents[name]
			home := t.TempDir()
			path, err := a.install(home)
			if err != nil {
				t.Fatal(err)
			}
			test(t, name, a, home, path)
		})
	}
}

// A list, a read, a search and a watch change no file of a database that another process has open: no byte, size or time, and no file is
// made. The process pauses meanwhile, or the test would see its changes.
func TestNoTrace(t *testing.T) {
	eachAgent(t, func(t *testing.T, name string, a agent, home, path string) {
		program := start(t, name, path, 0)
		turns := program.until(20)
		s, err := treeline.New(treeline.Options{Backends: all.Drivers(), Home: home, WorkDir: home, Getenv: func(string) string { return "" }, NoBreadcrumbs: true})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for range 2 {
			before := files(t, filepath.Dir(path))
			if len(before) < 3 {
				t.Fatalf("%d files: no log", len(before))
			}
			list, err := s.Catalogue(t.Context(), treeline.RefreshOptions{})
			if err != nil || len(list) != 1 {
				t.Fatalf("%d sessions, %v", len(list), err)
			}
			sess, err := s.Open(t.Context(), list[0].Path, treeline.OpenOptions{})
			if err != nil || sess.Tree().Len() < turns {
				t.Fatalf("%d turns: %v", turns, err)
			}
			sess.Close()
			found, err := s.Search(t.Context(), fmt.Sprint("word", turns), treeline.SearchOptions{})
			if err != nil || len(found.Hits) != 1 {
				t.Errorf("%d hits, %v", len(found.Hits), err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			for c, err := range s.Watch(ctx, treeline.WatchOptions{Last: 1}) {
				if err != nil {
					t.Error(err)
				}
				if c.Kind == watch.KindEntry || err != nil {
					break
				}
			}
			cancel()
			if diff := difftest.Diff(before, files(t, filepath.Dir(path))); diff != "" {
				t.Errorf("reading changed files:\n%.3000s", diff)
			}
			program.goOn()
			turns = program.until(turns + 20)
		}
	})
}

// A program that never pauses, and does not wait for locks, meets no lock while its database is read. Each read ends, and sees the state
// after one transaction.
func TestReadersBesideWriter(t *testing.T) {
	eachAgent(t, func(t *testing.T, name string, a agent, _, path string) {
		program := start(t, name, path, 0)
		program.until(300) // the log was restarted, and will be again
		program.goOn()
		b := a.backend(path, true)
		defer b.Close()
		last := 0
		for range soaktest.Part(4, 2) {
			at, r, err := b.OpenNow(t.Context(), "own")
			if err != nil {
				t.Fatal(err)
			}
			text := make([]byte, at.Size)
			if _, err := r.ReadAt(text, 0); err != nil {
				t.Fatal(err)
			}
			header, messages, _ := bytes.Cut(text, []byte("\n"))
			n := bytes.Count(messages, []byte("\n"))
			if !bytes.Contains(header, fmt.Appendf(nil, `"turn %d"`, n)) || n < last {
				t.Fatalf("%d messages after %d and the row %.200s", n, last, header)
			}
			last = n
			for l, err := range b.List(t.Context(), "") {
				if err != nil || l.Size < at.Size {
					t.Fatalf("listed %v, %v after %v", l, err, at)
				}
			}
		}
		if n := program.pause(); n < last {
			t.Errorf("the program is at turn %d after %d was read", n, last)
		}
	})
}

// The data of both writers is there: the program's turns and treeline's sessions.
func TestWritersBesideWriter(t *testing.T) {
	eachAgent(t, func(t *testing.T, name string, a agent, _, path string) {
		c := soaktest.Begin(t)
		program := start(t, name, path, 30_000)
		program.until(10)
		a.tables.Busy = 30 * time.Second
		b := a.backend(path, false)
		defer b.Close()
		sessions, messages := soaktest.Part(6, 2), 4
		for round := range c.Rounds(1, 1) {
			program.goOn()
			for i := range sessions {
				id := fmt.Sprint("s", round, "-", i)
				list := a.session(id, messages, 500)
				at, err := b.Create(t.Context(), id, list[:2]...)
				got := 2
				for ; got < len(list) && err == nil; got++ {
					at, err = b.Append(t.Context(), at, list[got])
				}
				if err != nil {
					whole(t, path) // distinguishes a damaged file from a wrong read
					t.Fatalf("session %s, %d of %d records: %v", id, got, len(list), err)
				}
				c.Acknowledged(len(list))
			}
			turns := program.pause()
			for i := range sessions {
				id := fmt.Sprint("s", round, "-", i)
				got, err := recordsOf(t, b, id)
				if want := fmt.Sprintf("%s", a.session(id, messages, 500)); err != nil || want != fmt.Sprintf("%s", got) {
					c.Lost("%s: %v\n%.500s\nwant\n%.500s", id, err, got, want)
				}
			}
			if got, err := recordsOf(t, b, "own"); err != nil || len(got) != turns+1 {
				c.Lost("%d records after %d turns, %v", len(got), turns, err)
			}
			whole(t, path)
		}
	})
}

func recordsOf(t *testing.T, b *rows.Backend, name string) ([]string, error) {
	t.Helper()
	at, err := b.Stat(t.Context(), name)
	if err != nil {
		return nil, err
	}
	return read(t, b, at, 0)
}

// whole checks a database with SQLite.
func whole(t *testing.T, path string) {
	t.Helper()
	db, err := open(path, 5000)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var check string
	if err := db.QueryRow(`PRAGMA integrity_check`).Scan(&check); err != nil || check != "ok" {
		t.Errorf("integrity: %s, %v", check, err)
	}
	var broken int
	if err := db.QueryRow(`SELECT count(*) FROM pragma_foreign_key_check`).Scan(&broken); err != nil || broken != 0 {
		t.Errorf("%d rows refer to nothing, %v", broken, err)
	}
}

// A write is refused if the program holds the database for longer than the write waits. The error names the program, and nothing was
// written.
func TestRefusedBesideWriter(t *testing.T) {
	eachAgent(t, func(t *testing.T, name string, a agent, _, path string) {
		a.tables.Busy = 20 * time.Millisecond
		b := a.backend(path, false)
		defer b.Close()
		at, err := b.Create(t.Context(), "s1", a.session("s1", 1, 10)...)
		if err != nil {
			t.Fatal(err)
		}
		db, err := open(path, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		run(t, db, `BEGIN IMMEDIATE`)
		_, created := b.Create(t.Context(), "s2", a.session("s2", 1, 10)...)
		_, appended := b.Append(t.Context(), at, a.record("s1", 1, 10))
		for _, err := range []error{created, appended, b.Remove(t.Context(), at)} {
			if !errors.Is(err, backend.ErrLocked) || !strings.Contains(err.Error(), a.tables.Agent) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v", err)
			}
		}
		run(t, db, `ROLLBACK`)
		if now, err := b.Append(t.Context(), at, a.record("s1", 1, 10)); err != nil || now.Size <= at.Size {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// An append does not undo what the program does to a message at the same moment, even if no version shows it.
func TestEditedBesideAppend(t *testing.T) {
	t.Parallel()
	path, db := fresh(t)
	run(t, db, `INSERT INTO talk (name, title, changed) VALUES ('t', '', 1)`)
	run(t, db, `INSERT INTO line (key, talk, said, changed, data) VALUES ('k1', 't', 1, 1, '"one"'), ('k2', 't', 2, 1, '"two"')`)
	tables := description()
	tables.Lock = func(context.Context, string) (func() error, error) { // after the append has read, before it writes
		run(t, db, `UPDATE line SET data = '"TWO"' WHERE key = 'k2'`)
		return func() error { return nil }, nil
	}
	b := rows.New(rows.NewDatabase(path, tables, rows.Options{}), "", false)
	defer b.Close()
	at, err := b.Stat(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Append(t.Context(), at, []byte(`{"line":{"key":"k3","talk":"t","said":3,"changed":1,"data":3},"piece":[]}`))
	if !errors.Is(err, backend.ErrConflict) {
		t.Errorf("appended: %v", err)
	}
	var data string
	if err := db.QueryRow(`SELECT data FROM line WHERE key = 'k2'`).Scan(&data); err != nil || data != `"TWO"` {
		t.Errorf("the message is %s, %v", data, err)
	}
}
