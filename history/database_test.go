package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/internal/litefile"
)

// clock counts seconds from 2001 on. It may be used by several goroutines.
func clock() func() time.Time {
	var seconds atomic.Int64
	return func() time.Time { return time.Unix(1_000_000_000+seconds.Add(1), 0) }
}

// seconds is a clock for all writers of one database. It always advances.
var seconds = clock()

func open(t testing.TB, path string) *History {
	t.Helper()
	h, err := openDB(t.Context(), path, dbOptions{Clock: seconds})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func newPath(t testing.TB) string { return filepath.Join(t.TempDir(), "deep", "history.db") }

func add(t testing.TB, h *History, prompts ...string) {
	t.Helper()
	for _, p := range prompts {
		if err := h.Add(p, "/work"); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func texts(t testing.TB, h *History, q Query) []string {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = MaxLimit
	}
	list, err := h.Search(t.Context(), q)
	if err != nil {
		t.Fatalf("%q: %v", q.Text, err)
	}
	got := []string{}
	for _, p := range list {
		got = append(got, p.Text)
	}
	return got
}

func want(t testing.TB, what string, got []string, list ...string) {
	t.Helper()
	if !slices.Equal(got, list) {
		t.Errorf("%s:\ngot  %q\nwant %q", what, got, list)
	}
}

// raw opens the database without the package.
func raw(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func do(t testing.TB, db *sql.DB, text string, args ...any) {
	t.Helper()
	if _, err := db.Exec(text, args...); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// TestAdd: prompts are trimmed as the program trims; empty ones and repetitions are dropped, also after a reopen and if another process
// wrote last.
func TestAdd(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	h := open(t, path)
	if h.Path() != path {
		t.Errorf("it lies at %s, not at %s", h.Path(), path)
	}
	add(t, h, "one", "one", " one\n", "two", "\ufeff\u00a0 \t", "", "one", "line\nline", "\u0085", " \u0085 ")
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if err := h.Add("late", ""); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	h = open(t, path)
	add(t, h, "\u0085", "three")
	other := open(t, path)
	add(t, other, "three", "four")
	add(t, h, "four", "three")
	want(t, "all", texts(t, h, Query{}), "three", "four", "three", "\u0085", "line\nline", "one", "two", "one")
	list, err := h.Recent(t.Context(), 1)
	if err != nil || len(list) != 1 || list[0].CWD != "/work" || list[0].At.Unix() < 1_000_000_000 || list[0].ID != 8 {
		t.Errorf(`%+v, %v; want no error, len(list) == 1, list[0].CWD == "/work", list[0].At.Unix() >= 1_000_000_000, list[0].ID == 8`, list, err)
	}
}

// TestNotUTF8: invalid UTF-8 is replaced, so that every program can read it.
func TestNotUTF8(t *testing.T) {
	t.Parallel()
	h := open(t, newPath(t))
	add(t, h, "caf\xe9 au lait", "\xff")
	want(t, "all", texts(t, h, Query{}), "\ufffd", "caf\ufffd au lait")
	if got, err := h.Import(t.Context(), []Prompt{{Text: "caf\xe9 au lait"}}); err != nil || got.Added != 0 {
		t.Errorf("%+v, %v; want no error, got.Added == 0", got, err)
	}
}

// TestNeverBlocks: while another process holds the database, Add does not wait and Flush can be cancelled; afterwards everything
// is written, in order.
func TestNeverBlocks(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	h := open(t, path)
	db := raw(t, path)
	do(t, db, `BEGIN IMMEDIATE`)
	for i := range 100 {
		if err := h.Add(fmt.Sprint("prompt ", i), ""); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.Flush(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("flush: %v", err)
	}
	want(t, "meanwhile", texts(t, h, Query{})) // reads do not wait either
	do(t, db, `COMMIT`)
	add(t, h)
	if got := texts(t, h, Query{}); len(got) != 100 || got[0] != "prompt 99" || got[99] != "prompt 0" {
		t.Errorf(`%q; want len(got) == 100, got[0] == "prompt 99", got[99] == "prompt 0"`, got)
	}
}

// TestErrorStays: after the first write that fails, Add, Flush and Close return its error.
func TestErrorStays(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	open(t, path).Close()
	db := raw(t, path)
	do(t, db, `BEGIN IMMEDIATE`)
	h, err := openDB(t.Context(), path, dbOptions{Busy: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Add("one", ""); err != nil {
		t.Fatal(err)
	}
	first := h.Flush(t.Context())
	do(t, db, `COMMIT`)
	if first == nil || !litefile.IsBusy(first) || !strings.Contains(first.Error(), path) {
		t.Fatalf("flush: %v", first)
	}
	for what, err := range map[string]error{"add": h.Add("two", ""), "flush": h.Flush(t.Context()), "close": h.Close(), "close again": h.Close()} {
		if err != first {
			t.Errorf("%s: %v, not %v", what, err, first)
		}
	}
}

// TestCancelled: nothing is done after a cancellation.
func TestCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := openDB(ctx, newPath(t), dbOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("open: %v", err)
	}
	path := newPath(t)
	h := open(t, path)
	add(t, h, "one")
	if _, err := h.Search(ctx, Query{}); !errors.Is(err, context.Canceled) {
		t.Errorf("search: %v", err)
	}
	if _, err := h.Import(ctx, []Prompt{{Text: "two"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("import: %v", err)
	}
	if _, err := openReader(ctx, path, dbOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("reader: %v", err)
	}
	want(t, "all", texts(t, h, Query{}), "one")
}

// TestNoGoroutines: a closed history has no goroutines.
func TestNoGoroutines(t *testing.T) {
	// Not parallel: it checks all goroutines of the process.
	path := newPath(t)
	h := open(t, path)
	add(t, h, "one")
	r, err := openReader(t.Context(), path, dbOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "read", texts(t, r, Query{Text: "one"}), "one")
	_ = errors.Join(h.Close(), r.Close())
	deadline := time.Now().Add(10 * time.Second)
	for {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		left := ""
		for s := range strings.SplitSeq(string(stacks), "\n\n") {
			if strings.Contains(s, "(*queue).run") || strings.Contains(s, "database/sql") {
				left = s
			}
		}
		if left == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still there:\n%s", left)
		}
		runtime.Gosched()
	}
}

// TestImport: each prompt is imported once, in the order of time; a second import adds nothing.
func TestImport(t *testing.T) {
	t.Parallel()
	h := open(t, newPath(t))
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	list := []Prompt{
		{Text: "c", CWD: "/3", At: at(30)}, {Text: "a", CWD: "/1", At: at(10)}, {Text: " b ", CWD: "/2", At: at(20)}, {Text: "a", CWD: "/4", At: at(25)}, {Text: " "},
	}
	for i, wanted := range []Imported{{Added: 3}, {}} {
		if got, err := h.Import(t.Context(), list); err != nil || got != wanted {
			t.Errorf("%d: %+v, %v; want no error, got == %v", i, got, err, wanted)
		}
	}
	if got, err := h.Import(t.Context(), []Prompt{{Text: "b", At: at(40)}, {Text: "c", CWD: "/9", At: at(5)}}); err != nil || got != (Imported{Renewed: 1}) {
		t.Errorf("%+v, %v; want no error, got == %v", got, err, (Imported{Renewed: 1}))
	}
	all, err := h.Recent(t.Context(), 10)
	if err != nil {
		t.Fatal(err)
	}
	wanted := []Prompt{{1, "b", "/2", at(40)}, {3, "c", "/3", at(30)}, {2, "a", "/4", at(25)}}
	if !reflect.DeepEqual(all, wanted) {
		t.Errorf("got  %+v\nwant %+v", all, wanted)
	}
	if err := h.check(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestGuest: in an agent's database added prompts are visible to all programs, and the journal stays as the agent leaves it.
func TestGuest(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	for i, prompt := range []string{"one", "two", "three"} {
		h, err := openDB(t.Context(), path, dbOptions{Clock: seconds, Guest: true})
		if err != nil {
			t.Fatal(err)
		}
		add(t, h, prompt)
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
			t.Errorf("the journal: %v, %v", info, err)
		}
		r, err := openReader(t.Context(), path, dbOptions{})
		if err != nil {
			t.Fatal(err)
		}
		list, err := r.Recent(t.Context(), 9)
		if err != nil || len(list) != i+1 || list[0].Text != prompt {
			t.Errorf("%v, %v; want no error, len(list) == %v, list[0].Text == %v", list, err, i+1, prompt)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
