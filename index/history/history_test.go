package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/internal/litefile"
)

// clock counts seconds from 2001 on.
func clock() func() time.Time {
	at := time.Unix(1_000_000_000, 0)
	return func() time.Time {
		at = at.Add(time.Second)
		return at
	}
}

// seconds is a clock for all who write to one database: it never stands still and never goes back.
var seconds = clock()

func open(t testing.TB, path string) *History {
	t.Helper()
	h, err := Open(t.Context(), path, Options{Clock: seconds})
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

// raw opens the database beside the package.
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

// schemaOf gives the text of all that is in a database.
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

// TestSchema: a database of ours is to the letter what omp 13.19 makes. The golden was written by it.
func TestSchema(t *testing.T) {
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

// TestOlderLayouts: what earlier versions of the program made becomes today's, with all rows and a filled text index.
func TestOlderLayouts(t *testing.T) {
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

			r, err := OpenReader(t.Context(), path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			want(t, "read as it is", texts(t, r, Query{Text: "word"}), list...)
			r.Close()

			h := open(t, path)
			want(t, "search", texts(t, h, Query{Text: "word"}), list...)
			add(t, h, "newest words")
			want(t, "search", texts(t, h, Query{Text: "word"}), append([]string{"newest words"}, list...)...)
			if err := h.Check(t.Context()); err != nil {
				t.Error(err)
			}
			h.Close()
			if got := schemaOf(t, path); got != string(golden) {
				t.Errorf("got\n%s", got)
			}
		})
	}
}

// TestForeign: what a newer program made is read where it can be, and never written.
func TestForeign(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	db := raw(t, path)
	do(t, db, `CREATE TABLE history (id INTEGER PRIMARY KEY, prompt TEXT UNIQUE, created_at INTEGER, cwd TEXT, use_count INTEGER);`+
		createText+createTrigger+`INSERT INTO history VALUES (1, 'from tomorrow', 5, NULL, 3); PRAGMA user_version = 1`)
	db.Close()
	if _, err := Open(t.Context(), path, Options{}); !errors.Is(err, ErrForeign) {
		t.Errorf("open: %v", err)
	}
	h, err := OpenReader(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	want(t, "read", texts(t, h, Query{Text: "tom"}), "from tomorrow")

	path = filepath.Join(t.TempDir(), "other.db")
	db = raw(t, path)
	do(t, db, `CREATE TABLE history (something TEXT)`)
	db.Close()
	if _, err := OpenReader(t.Context(), path, Options{}); !errors.Is(err, ErrForeign) {
		t.Errorf("read: %v", err)
	}
}

// TestNotHistory: a database of something else is neither read nor changed; what is left of a history, and nothing at all,
// becomes one.
func TestNotHistory(t *testing.T) {
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
			if _, err := Open(t.Context(), path, Options{}); !errors.Is(err, ErrNotHistory) {
				t.Errorf("open: %v", err)
			}
			if _, err := OpenReader(t.Context(), path, Options{}); !errors.Is(err, ErrNotHistory) {
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

// TestAdd: trimmed as the program trims, empty ones and repetitions dropped, also after opening again and when another
// wrote last.
func TestAdd(t *testing.T) {
	path := newPath(t)
	h := open(t, path)
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
		t.Errorf("%+v, %v", list, err)
	}
}

// TestNotUTF8: what is no text becomes text, so that every program can read it.
func TestNotUTF8(t *testing.T) {
	h := open(t, newPath(t))
	add(t, h, "caf\xe9 au lait", "\xff")
	want(t, "all", texts(t, h, Query{}), "\ufffd", "caf\ufffd au lait")
	if got, err := h.Import(t.Context(), []Prompt{{Text: "caf\xe9 au lait"}}); err != nil || got.Added != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestSearch: every word must begin a word of the prompt; newest first; the limit is clamped; nothing in a query is an
// operator.
func TestSearch(t *testing.T) {
	h := open(t, newPath(t))
	for i, p := range []string{
		"Fix the parser", "fixtures for the lexer", "write docs", `say "hello" (twice)`, "don't use foo_bar.go", "Größe über alles", "修复解析器 now", "a\x00b",
	} {
		if err := h.Add(p, []string{"/a", "/b"}[i%2]); err != nil {
			t.Fatal(err)
		}
	}
	add(t, h)
	for query, list := range map[string][]string{
		"fix": {"fixtures for the lexer", "Fix the parser"}, "FIX the": {"fixtures for the lexer", "Fix the parser"}, "the fix pars": {"Fix the parser"},
		"ix": {}, `"hello"`: {`say "hello" (twice)`}, `hello" OR "fix`: {}, "hello AND twice": {}, "NOT": {}, "prompt:fix": {}, "fix*": {"fixtures for the lexer", "Fix the parser"},
		"NEAR(fix the)": {}, "^fix": {"fixtures for the lexer", "Fix the parser"}, "{prompt}": {}, "-": {}, `"`: {}, "fix -": {"fixtures for the lexer", "Fix the parser"},
		"foo_bar.go": {"don't use foo_bar.go"}, "bar.go": {"don't use foo_bar.go"}, "don't": {"don't use foo_bar.go"}, "grosse": {}, "grösse": {}, "größe": {"Größe über alles"},
		"uber": {"Größe über alles"}, "修复": {"修复解析器 now"}, "fix\x00the": {"Fix the parser"}, "🙂": {}, "\xff\xfe": {},
	} {
		want(t, query, texts(t, h, Query{Text: query}), list...)
	}
	want(t, "anywhere", texts(t, h, Query{Text: "析 OW", Anywhere: true}), "修复解析器 now")
	want(t, "anywhere", texts(t, h, Query{Text: `"hello" (`, Anywhere: true, CWD: "/b"}), `say "hello" (twice)`)
	want(t, "anywhere", texts(t, h, Query{Text: "GRÖSS ÜB", Anywhere: true}))
	want(t, "anywhere", texts(t, h, Query{Text: "ÖßE ÜB", Anywhere: true}), "Größe über alles")
	for _, anywhere := range []bool{false, true} {
		want(t, "very many words", texts(t, h, Query{Text: strings.Repeat("the fix pars ", 10_000), Anywhere: anywhere}), "Fix the parser")
	}
	want(t, "nowhere", texts(t, h, Query{Text: "析 %", Anywhere: true}))
	want(t, "of a directory", texts(t, h, Query{CWD: "/a", Text: "the"}), "Fix the parser")
	also := func(p Prompt) bool { return strings.HasPrefix(p.Text, "fixtures") }
	want(t, "also elsewhere", texts(t, h, Query{CWD: "/a", Also: also, Limit: 5}), "修复解析器 now", "don't use foo_bar.go", "write docs", "fixtures for the lexer", "Fix the parser")
	for limit, n := range map[int]int{-5: 1, 0: 1, 3: 3, 5000: 8} {
		list, err := h.Recent(t.Context(), limit)
		if err != nil || len(list) != n {
			t.Errorf("limit %d: %d, %v", limit, len(list), err)
		}
	}
}

// TestMost: no answer is longer than the most.
func TestMost(t *testing.T) {
	h := open(t, newPath(t))
	for i := range MaxLimit + 50 {
		if err := h.Add(fmt.Sprint("number ", i), ""); err != nil {
			t.Fatal(err)
		}
	}
	add(t, h)
	if got := texts(t, h, Query{Text: "number", Limit: 1 << 40}); len(got) != MaxLimit || got[0] != "number 1049" {
		t.Errorf("%d prompts, the first %q", len(got), got[0])
	}
}

// TestRandom compares random histories with a slice.
func TestRandom(t *testing.T) {
	for seed := range uint64(8) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		word := func() string {
			return string([]byte{'a' + byte(rnd.IntN(3)), 'a' + byte(rnd.IntN(3)), 'a' + byte(rnd.IntN(2))})
		}
		path := newPath(t)
		now := clock()
		var at time.Time
		tick := func() time.Time {
			if rnd.IntN(2) == 0 || at.IsZero() { // several in the same second
				at = now()
			}
			return at
		}
		var oracle []Prompt
		h, err := Open(t.Context(), path, Options{Clock: func() time.Time { return at }})
		if err != nil {
			t.Fatal(err)
		}
		for range 200 {
			switch rnd.IntN(30) {
			case 0:
				if err := h.Close(); err != nil {
					t.Fatal(err)
				}
				if h, err = Open(t.Context(), path, Options{Clock: func() time.Time { return at }}); err != nil {
					t.Fatal(err)
				}
			case 1, 2, 3:
				add(t, h)
				q := Query{Text: word()[:1+rnd.IntN(3)], Limit: 1 + rnd.IntN(30)}
				if rnd.IntN(2) == 0 {
					q.Text += " " + word()[:1+rnd.IntN(2)]
				}
				if rnd.IntN(3) == 0 {
					q.CWD = "/b"
				}
				want(t, fmt.Sprintf("seed %d, %+v", seed, q), texts(t, h, q), find(oracle, q)...)
			default:
				p := Prompt{Text: word(), CWD: []string{"/a", "/b"}[rnd.IntN(2)], At: tick()}
				if rnd.IntN(2) == 0 {
					p.Text += " " + word()
				}
				if err := h.Add(p.Text, p.CWD); err != nil {
					t.Fatal(err)
				}
				if n := len(oracle); n == 0 || oracle[n-1].Text != p.Text {
					oracle = append(oracle, p)
				}
			}
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// find is Search on a slice.
func find(list []Prompt, q Query) []string {
	fits := []string{}
	for i := len(list) - 1; i >= 0 && len(fits) < q.Limit; i-- { // times never go back
		all := q.CWD == "" || list[i].CWD == q.CWD
		for _, w := range strings.Fields(q.Text) {
			all = all && slices.ContainsFunc(strings.Fields(list[i].Text), func(s string) bool { return strings.HasPrefix(s, w) })
		}
		if all {
			fits = append(fits, list[i].Text)
		}
	}
	return fits
}

// TestNeverBlocks: while another holds the database nobody who adds waits; a flush can be given up; when the other is
// done all is written, in order.
func TestNeverBlocks(t *testing.T) {
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
	want(t, "meanwhile", texts(t, h, Query{})) // reading does not wait either
	do(t, db, `COMMIT`)
	add(t, h)
	if got := texts(t, h, Query{}); len(got) != 100 || got[0] != "prompt 99" || got[99] != "prompt 0" {
		t.Errorf("%q", got)
	}
}

// TestErrorStays: the first write that failed is what Add, Flush and Close return from then on.
func TestErrorStays(t *testing.T) {
	path := newPath(t)
	open(t, path).Close()
	db := raw(t, path)
	do(t, db, `BEGIN IMMEDIATE`)
	h, err := Open(t.Context(), path, Options{Busy: time.Millisecond})
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

// TestCancelled: nothing is done for somebody who is gone.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, newPath(t), Options{}); !errors.Is(err, context.Canceled) {
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
	if _, err := OpenReader(ctx, path, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("reader: %v", err)
	}
	want(t, "all", texts(t, h, Query{}), "one")
}

// TestNoGoroutines: a closed history leaves none behind.
func TestNoGoroutines(t *testing.T) {
	path := newPath(t)
	h := open(t, path)
	add(t, h, "one")
	r, err := OpenReader(t.Context(), path, Options{})
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

// TestImport: each prompt once, in the order of time, and again nothing.
func TestImport(t *testing.T) {
	h := open(t, newPath(t))
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	list := []Prompt{
		{Text: "c", CWD: "/3", At: at(30)}, {Text: "a", CWD: "/1", At: at(10)}, {Text: " b ", CWD: "/2", At: at(20)}, {Text: "a", CWD: "/4", At: at(25)}, {Text: " "},
	}
	for i, wanted := range []Imported{{Added: 3}, {}} {
		if got, err := h.Import(t.Context(), list); err != nil || got != wanted {
			t.Errorf("%d: %+v, %v", i, got, err)
		}
	}
	if got, err := h.Import(t.Context(), []Prompt{{Text: "b", At: at(40)}, {Text: "c", CWD: "/9", At: at(5)}}); err != nil || got != (Imported{Renewed: 1}) {
		t.Errorf("%+v, %v", got, err)
	}
	all, err := h.Recent(t.Context(), 10)
	if err != nil {
		t.Fatal(err)
	}
	wanted := []Prompt{{1, "b", "/2", at(40)}, {3, "c", "/3", at(30)}, {2, "a", "/4", at(25)}}
	if !reflect.DeepEqual(all, wanted) {
		t.Errorf("got  %+v\nwant %+v", all, wanted)
	}
	if err := h.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestReader: reading leaves no trace, with a journal and without, and sees what is in the journal.
func TestReader(t *testing.T) {
	path := newPath(t)
	if _, err := OpenReader(t.Context(), path, Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("none: %v", err)
	}
	h := open(t, path)
	add(t, h, "one", "two")
	read := func(what string, list ...string) {
		t.Helper()
		before := listing(t, filepath.Dir(path))
		r, err := OpenReader(t.Context(), path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		want(t, what, texts(t, r, Query{}), list...)
		if err := r.Add("three", ""); err != ErrReadOnly {
			t.Errorf("add: %v", err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if after := listing(t, filepath.Dir(path)); !reflect.DeepEqual(before, after) {
			t.Errorf("%s: before %v, after %v", what, before, after)
		}
	}
	read("with a journal", "two", "one")
	h.Close()
	read("without", "two", "one")

	r, err := OpenReader(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	h = open(t, path)
	add(t, h, "three")
	h.Close()
	want(t, "changed under the reader", texts(t, r, Query{}), "three", "two", "one")
}

// TestReaderBesideWriter: a reader in the same process does not take the locks from under the writer. Another process
// that closes the database would otherwise find nobody there, and take the journal away.
func TestReaderBesideWriter(t *testing.T) {
	path := newPath(t)
	h := open(t, path)
	add(t, h, "one")
	r, err := OpenReader(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "read", texts(t, r, Query{}), "one")
	add(t, h, "two")
	want(t, "goes on", texts(t, r, Query{}), "two", "one")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	cmd, out := writer(t, path, "other", 3)
	go io.Copy(io.Discard, out)
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path + "-wal"); err != nil {
		t.Errorf("the journal of an open database: %v", err)
	}
	add(t, h, "three")
	want(t, "all", texts(t, h, Query{}), "other 2", "other 1", "other 0", "three", "two", "one")
}

func listing(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = fmt.Sprint(info.Size(), info.ModTime().UnixNano(), info.Mode())
	}
	return files
}
