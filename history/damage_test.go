package history

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/durable/crashfs"
	"github.com/treeline-dev/treeline/internal/durable/faultfs"
)

// filled returns the path of a closed history with n prompts.
func filled(t *testing.T, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "history.db")
	h := open(t, path)
	var list []Prompt
	for i := range n {
		list = append(list, Prompt{Text: fmt.Sprintf("prompt %d %s", i, strings.Repeat("word ", 20)), At: time.Unix(int64(i), 0)})
	}
	if _, err := h.Import(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// scratch overwrites a piece of a file.
func scratch(t *testing.T, path string, at int64, text []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(text, at); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// useAll opens a history and performs all operations on it.
func useAll(t *testing.T, path string) error {
	h, err := openDB(t.Context(), path, dbOptions{})
	if err != nil {
		return err
	}
	defer h.Close()
	_, err = h.Search(t.Context(), Query{Text: "prompt", Limit: MaxLimit})
	return errors.Join(err, h.check(t.Context()), h.Add("another", ""), h.Flush(t.Context()))
}

// TestDamage: each kind of damage is detected and named correctly, and what can be read is salvaged. least is how many of 1,000 prompts
// must be salvaged.
func TestDamage(t *testing.T) {
	t.Parallel()
	garbage := []byte(strings.Repeat("\xa5", 4096))
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, path string)
		least int
	}{
		{"no database", func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(strings.Repeat("this is no database\n", 500)), 0o600); err != nil {
				t.Fatal(err)
			}
		}, 0},
		{"header", func(t *testing.T, path string) { scratch(t, path, 0, garbage[:100]) }, 0},
		{"cut off", func(t *testing.T, path string) {
			if err := os.Truncate(path, 20*4096); err != nil {
				t.Fatal(err)
			}
		}, 200},
		{"pages of the table", func(t *testing.T, path string) {
			db := raw(t, path)
			var page int64
			if err := db.QueryRow(`SELECT pageno FROM dbstat WHERE name = 'history' AND pagetype = 'leaf' LIMIT 1 OFFSET 10`).Scan(&page); err != nil {
				t.Fatal(err)
			}
			db.Close()
			scratch(t, path, (page-1)*4096, garbage)
		}, 950},
		// SQLite's own check accepts this: it sees tables with blobs in them.
		{"text index", func(t *testing.T, path string) {
			do(t, raw(t, path), `UPDATE history_fts_data SET block = x'0000002a00ff' WHERE id > 100`)
		}, 1000},
		{"text index without its words", func(t *testing.T, path string) {
			do(t, raw(t, path), `DELETE FROM history_fts_idx; DELETE FROM history_fts_data WHERE id > 10; DELETE FROM history_fts_docsize`)
		}, 1000},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filled(t, 1000)
			c.spoil(t, path)
			if err := useAll(t, path); !errors.Is(err, ErrDamaged) {
				t.Fatalf("used as if all were well: %v", err)
			}
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			aside, err := moveAside(path, "", dbOptions{Clock: func() time.Time { return time.Unix(0, 0) }})
			if err != nil || filepath.Base(aside) != "history.db.corrupt-19700101T000000Z" {
				t.Fatalf(`%s, %v; want no error, filepath.Base(aside) == "history.db.corrupt-19700101T000000Z"`, aside, err)
			}
			list, err := salvage(t.Context(), aside, 0, dbOptions{})
			if err != nil || len(list) < c.least {
				t.Errorf("salvaged %d, %v", len(list), err)
			}
			if !slices.IsSortedFunc(list, func(a, b Prompt) int { return int(a.ID - b.ID) }) {
				t.Error("not in order, or twice")
			}
			after, err := os.ReadFile(aside)
			if err != nil || string(before) != string(after) {
				t.Errorf("the damaged file changed: %v", err)
			}
			h := open(t, path)
			if got, err := h.Import(t.Context(), list); err != nil || got.Added != len(list) {
				t.Errorf("%+v, %v; want no error, got.Added == %v", got, err, len(list))
			}
			if err := h.check(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestLostWords: SQLite accepts an index that lost prompts. A search that finds nothing in it returns an error.
func TestLostWords(t *testing.T) {
	t.Parallel()
	path := filled(t, 3)
	db := raw(t, path)
	do(t, db, `DROP TRIGGER history_ai; INSERT INTO history (prompt) VALUES ('not indexed');`+createTrigger)
	db.Close()
	reader := func() (*History, error) { return openReader(t.Context(), path, dbOptions{}) }
	for _, open := range []func() (*History, error){reader, func() (*History, error) { return openDB(t.Context(), path, dbOptions{}) }} {
		h, err := open()
		if err != nil {
			t.Fatal(err)
		}
		if got := texts(t, h, Query{Text: "prompt"}); len(got) != 3 {
			t.Errorf("%q; want len(got) == 3", got)
		}
		if _, err := h.Search(t.Context(), Query{Text: "indexed", Limit: 1}); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "3 of 4 prompts") {
			t.Errorf("lost: %v", err)
		}
		h.Close()
	}
	do(t, raw(t, path), `DELETE FROM history WHERE id > 1`)
	h := open(t, path)
	want(t, "rows that were deleted", texts(t, h, Query{Text: "indexed"}))
}

// TestMoveAside: the journal moves along, a second move chooses another name, and a name that is taken is not chosen.
func TestMoveAside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "history.db")
	opt := dbOptions{Clock: func() time.Time { return time.Unix(0, 0) }}
	for i, name := range []string{"history.db.corrupt-19700101T000000Z", "history.db.corrupt-19700101T000000Z-1"} {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			if err := os.WriteFile(path+suffix, fmt.Append(nil, i, suffix), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		aside, err := moveAside(path, "", opt)
		if err != nil || filepath.Base(aside) != name {
			t.Fatalf("%s, %v; want no error, filepath.Base(aside) == %v", aside, err, name)
		}
		for _, suffix := range []string{"", "-wal", "-shm"} {
			b, err := os.ReadFile(aside + suffix)
			if err != nil || string(b) != fmt.Sprint(i, suffix) {
				t.Errorf("%s: %q, %v; want no error, string(b) == fmt.Sprint(i, suffix)", suffix, b, err)
			}
			if _, err := os.Stat(path + suffix); !os.IsNotExist(err) {
				t.Errorf("%s is still there: %v", suffix, err)
			}
		}
	}
}

// TestMoveAsideCrash: whenever the machine stops, every file has one of its names, and no journal belongs to a missing or to another
// database.
func TestMoveAsideCrash(t *testing.T) {
	t.Parallel()
	root := filepath.Join(string(filepath.Separator), "state")
	path := filepath.Join(root, "history.db")
	const aside = "history.db.corrupt-19700101T000000Z"
	for _, fresh := range []string{"", path + ".new"} {
		live := crashfs.New(root)
		for _, name := range []string{"", "-wal", "-shm", ".new"} {
			if _, err := durable.Create(live, path+name, 0o600, strings.NewReader(name)); err != nil {
				t.Fatal(err)
			}
		}
		crashes := 0
		live.OnOp(func(op string) {
			fates := []crashfs.Fate{crashfs.Lost, crashfs.Kept}
			for seed := range uint64(20) {
				fates = append(fates, crashfs.Mixed(seed))
			}
			for _, fate := range fates {
				crashes++
				left := live.Crash(fate)
				has := func(name string) bool { _, err := left.Stat(filepath.Join(root, name)); return err == nil }
				for _, suffix := range []string{"", "-wal", "-shm"} {
					if !has("history.db"+suffix) && !has(aside+suffix) {
						t.Errorf("after %s: %q is gone", op, suffix)
					}
				}
				info, err := left.Stat(path)
				replaced := err != nil || info.Size > 0 // the old database is empty
				if fresh != "" && err != nil {
					t.Errorf("after %s: no database", op)
				}
				if replaced && (has("history.db-wal") || !has(aside)) {
					t.Errorf("after %s: the journal is there, or the database is gone", op)
				}
			}
		})
		if _, err := moveAside(path, fresh, dbOptions{FS: live, Clock: func() time.Time { return time.Unix(0, 0) }}); err != nil {
			t.Fatal(err)
		}
		if crashes == 0 {
			t.Error("nothing was tried")
		}
	}
}

// TestMoveAsideFaults: each operation fails once. The error is returned, and a second try succeeds.
func TestMoveAsideFaults(t *testing.T) {
	t.Parallel()
	for nth := 1; ; nth++ {
		root := filepath.Join(string(filepath.Separator), "state")
		path := filepath.Join(root, "history.db")
		inner := crashfs.New(root)
		for _, suffix := range []string{"", "-wal", "-shm"} {
			if _, err := durable.Create(inner, path+suffix, 0o600, strings.NewReader("content"+suffix)); err != nil {
				t.Fatal(err)
			}
		}
		opt := dbOptions{FS: faultfs.New(inner, nth, faultfs.Fault{Err: syscall.EIO}), Clock: func() time.Time { return time.Unix(0, 0) }}
		_, err := moveAside(path, "", opt)
		if err == nil {
			if nth < 5 {
				t.Errorf("only %d operations could fail", nth-1)
			}
			return
		}
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("operation %d: %v", nth, err)
		}
		if _, err := inner.Stat(path); err == nil {
			if _, err := moveAside(path, "", dbOptions{FS: inner, Clock: opt.Clock}); err != nil {
				t.Errorf("again after operation %d: %v", nth, err)
			}
		}
		// All three files exist under some name; a failed try may have left a second name.
		entries, err := inner.ReadDir(root)
		if err != nil || len(entries) < 3 || slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == "history.db" }) {
			t.Errorf("operation %d: %v, %v", nth, entries, err)
		}
	}
}
