package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/store"
)

// strange are lines that a rewrite must keep: odd spellings, unknown members and types, damage.
var strange = []string{
	world.Said("a", "", "one"),
	`{"type":"future","id":"b","parentId":"a","n":1.50,"big":123456789012345678901234567890,"u":"\u00e4\/","x":{"y":[ 1 , 2 ]}}`,
	`{ "type" : "message" , "id":"c", "parentId":"b", "extra":null, "message":{"role":"user","content":"two","custom":[1e5]} }`,
	`nonsense`,
	`null`,
	`[1,2]`,
	``,
	`{"type":"session","id":"again"}`,
	world.Said("d", "c", "three") + world.Said("e", "d", "four"),
	`{"type":"message","id":"torn","par` + world.Said("f", "e", "five"),
	"\x00\x00\x00",
	world.Said("g", "f", "six"),
}

// A rewrite keeps every byte that it does not mean to change.
func TestRewriteKeepsTheRest(t *testing.T) {
	for name, ending := range map[string]string{"newlines": "\n", "CRLF": "\r\n"} {
		for _, bom := range []string{"", "\xef\xbb\xbf"} {
			for _, closed := range []string{ending, ""} {
				t.Run(name+bom+closed, func(t *testing.T) {
					d := newDesk(t)
					header := bom + `{"type":"session","version":3,"id":"s","timestamp":"2026-02-16T10:20:00.000Z","cwd":"/w","secret": {"a" :1}}`
					body := strings.Join(strange, ending) + closed
					path := d.Put("x/a.jsonl", header+ending+body)
					s := d.Edit(path, store.WriteOptions{})
					texts := []string{"one", "two", "three", "four", "five", "six"}
					d.Same(d.Texts(s), texts)
					d.Must(s.Rename(t.Context(), "name"))
					check := func(want string) {
						t.Helper()
						got, err := os.ReadFile(path)
						d.Must(err)
						want += body
						if closed == "" {
							want += "\n" // the only byte that was added
						}
						if string(got) != want {
							t.Errorf("got\n%q\nwant\n%q", got, want)
						}
						d.MemoryEqualsDisk(s)
						d.Same(d.Texts(s), texts)
					}
					renamed := strings.TrimSuffix(header, "}") + `,"title":"name"}`
					check(renamed + ending)
					d.Must(s.Move(t.Context(), "/elsewhere"))
					check(strings.Replace(renamed, `"/w"`, `"/elsewhere"`, 1) + ending)
					d.User(s, "seven")
					d.MemoryEqualsDisk(s)
				})
			}
		}
	}
}

// The arguments of a tool call are changed where they stand, and nothing else.
func TestRewriteToolCallArguments(t *testing.T) {
	d := newDesk(t)
	call := func(args string) string {
		return `{"type":"message","id":"b","parentId":"a","timestamp":"x","message":{"role":"assistant","odd":1.0,"content":[{"type":"text","text":"t"},{"type":"toolCall","id":"call","name":"n","arguments":` + args + `,"more":true}]},"last":1}`
	}
	lines := slices.Clone(strange)
	lines = append(lines, call(`{"a": 1}`), world.Said("z", "b", "after"))
	path := d.Put("x/a.jsonl", world.Log("s", "/w", lines...))
	s := d.Edit(path, store.WriteOptions{})
	found, err := s.RewriteToolCallArguments(t.Context(), "call", []byte(`{"b": [1, 2]}`))
	d.Must(err)
	lines[len(lines)-2] = call(`{"b":[1,2]}`)
	if !found {
		t.Error("not found")
	}
	d.Same(d.ReadLines(path)[1:], lines)
	d.MemoryEqualsDisk(s)
	before, err := os.Stat(path)
	d.Must(err)
	found, err = s.RewriteToolCallArguments(t.Context(), "nobody", []byte(`{}`))
	d.Must(err)
	after, err := os.Stat(path)
	d.Must(err)
	if found || before.ModTime() != after.ModTime() {
		t.Error("rewritten for nothing")
	}
	if _, err := s.RewriteToolCallArguments(t.Context(), "call", []byte(`{`)); err == nil {
		t.Error("no JSON is taken")
	}
	// In a glued line each entry gets a line of its own, and so does what lies between.
	path = d.Put("x/b.jsonl", world.Log("s", "/w", `garbage`+world.Said("a", "", "one")+call(`1`)+world.Said("c", "b", "three")+`{"tail`))
	s = d.Edit(path, store.WriteOptions{})
	_, err = s.RewriteToolCallArguments(t.Context(), "call", []byte(`2`))
	d.Must(err)
	d.Same(d.ReadLines(path)[1:], []string{`garbage`, world.Said("a", "", "one"), call(`2`), world.Said("c", "b", "three"), `{"tail`})
	d.User(s, "four")
	d.MemoryEqualsDisk(s)
}

// RewriteEntries puts entries in the place of all others; the header and lines that are not entries stay.
func TestRewriteEntries(t *testing.T) {
	d := newDesk(t)
	header := strings.TrimSuffix(world.Log("s", "/w"), "\n\n")
	path := d.Put("x/a.jsonl", header+world.Said("0", "", "zero")+"\n"+strings.Join(strange, "\n")+"\n")
	s := d.Edit(path, store.WriteOptions{})
	entries := []string{world.Said("x", "", "ex"), world.Said("g", "x", "gee"), world.Said("y", "g", "why")}
	var raw [][]byte
	for _, e := range entries {
		raw = append(raw, []byte(e))
	}
	d.Must(s.RewriteEntries(t.Context(), append([][]byte{[]byte(header)}, raw...)))
	want := []string{header, `nonsense`, `null`, `[1,2]`, ``, `{"type":"session","id":"again"}`, `{"type":"message","id":"torn","par`, "\x00\x00\x00"}
	d.Same(d.ReadLines(path), append(want, entries...))
	if s.Leaf() != "g" {
		t.Errorf("the leaf was g and is %s", s.Leaf())
	}
	d.MemoryEqualsDisk(s)
	for _, bad := range []string{`7`, `{`, `{} {}`, `{"type":"title"`} {
		if err := s.RewriteEntries(t.Context(), [][]byte{[]byte(bad)}); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
	d.Must(s.RewriteEntries(t.Context(), nil))
	if s.Tree().Len() != 0 || s.Leaf() != "" {
		t.Errorf("%d entries, leaf %q", s.Tree().Len(), s.Leaf())
	}
	d.User(s, "anew")
	d.Same(d.Seen(path), []string{"anew"})
}

// A session whose log is deferred is rewritten in memory, and written once it has an answer.
func TestRewriteEntriesOfWaiting(t *testing.T) {
	d := newDesk(t)
	s := d.Begin("omp-doc", store.CreateOptions{})
	d.User(s, "one")
	d.Must(s.RewriteEntries(t.Context(), [][]byte{[]byte(world.Said("a", "", "x"))}))
	if d.Exists(s.Path()) {
		t.Error("written too early")
	}
	d.Must(s.RewriteEntries(t.Context(), [][]byte{[]byte(world.Said("a", "", "x")), []byte(strings.Replace(world.Said("b", "a", "y"), `"user"`, `"assistant"`, 1))}))
	d.Same(d.Seen(s.Path()), []string{"x", "y"})
	d.MemoryEqualsDisk(s)
}

// A log of an old version is migrated when it is opened for writing, the original kept; reading it changes nothing.
func TestMigration(t *testing.T) {
	d := newDesk(t)
	old := strings.Join([]string{
		`{"type":"session","id":"s","timestamp":"2025-12-01T00:00:00.000Z","cwd":"/w","provider":"p","modelId":"m"}`,
		`{"type":"message","timestamp":"2025-12-01T00:00:01.000Z","message":{"role":"user","content":"one"},"odd":1.50}`,
		`nonsense`,
		`{"type":"message","timestamp":"2025-12-01T00:00:02.000Z","message":{"role":"assistant","content":"two"}}`,
		`{"type":"compaction","timestamp":"2025-12-01T00:00:03.000Z","summary":"sum","firstKeptEntryIndex":2,"tokensBefore":5}`,
		`{"type":"message","timestamp":"2025-12-01T00:00:04.000Z","message":{"role":"user","content":"three"}}`,
	}, "\n") + "\n"
	path := d.Put("x/a.jsonl", old)
	seen := d.Seen(path)
	d.Same([]string{strings.Join(d.ReadLines(path), "\n") + "\n"}, []string{old})
	s := d.Edit(path, store.WriteOptions{})
	kept, err := os.ReadFile(path + ".v1.bak")
	d.Must(err)
	if string(kept) != old {
		t.Errorf("the original was not kept: %q", kept)
	}
	if h := s.Header(); h.Version != 3 || d.member(path, 0, "provider") != "p" {
		t.Errorf(`%+v; want h.Version == 3, d.member(path, 0, "provider") == "p"`, h)
	}
	if lines := d.ReadLines(path); len(lines) != 6 || lines[2] != "nonsense" || !strings.Contains(lines[1], `"odd":1.50`) {
		t.Error(lines)
	}
	d.Same(d.Texts(s), seen)
	d.User(s, "four")
	d.Same(d.Seen(path), append(seen, "four"))
	d.MemoryEqualsDisk(s)
	d.Must(s.Close())
	again := d.Edit(path, store.WriteOptions{})
	d.MemoryEqualsDisk(again)
	if list, _ := filepath.Glob(path + "*"); len(list) != 2 {
		t.Errorf("files: %v", list)
	}

	// After a crash between the copy and the rewrite the copy is there already; another file of that name is not lost.
	path = d.Put("x/b.jsonl", old)
	d.Put("x/b.jsonl.v1.bak", old)
	d.Must(d.Edit(path, store.WriteOptions{}).Close())
	if d.Exists(path + ".v1.bak-2") {
		t.Error("kept twice")
	}
	path = d.Put("x/c.jsonl", old)
	d.Put("x/c.jsonl.v1.bak", "another")
	d.Must(d.Edit(path, store.WriteOptions{}).Close())
	d.Same(d.ReadLines(path+".v1.bak"), []string{"another"})
	d.Same(d.ReadLines(path+".v1.bak-2"), d.ReadLines(d.Put("x/old", old)))

	v2 := world.Log("s", "/w", `{"type":"message","id":"a","parentId":null,"message":{"role":"hookMessage","content":"h"}}`, world.Said("b", "a", "u"))
	path = d.Put("x/d.jsonl", strings.Replace(v2, `"version":3`, `"version":2`, 1))
	s = d.Edit(path, store.WriteOptions{})
	if s.Header().Version != 3 || !strings.Contains(d.ReadLines(path)[1], `"role":"custom"`) || d.ReadLines(path)[2] != world.Said("b", "a", "u") || !d.Exists(path+".v2.bak") {
		t.Error(d.ReadLines(path))
	}
	// A fork of an old session is a current one; the source is only read.
	path = d.Put("x/e.jsonl", old)
	copied := d.Closing(d.ForkFrom(t.Context(), path, d.fill(store.CreateOptions{})))
	d.Same(d.Texts(copied), seen)
	if copied.Header().Version != 3 || d.Exists(path+".v1.bak") {
		t.Errorf(`%+v; want copied.Header().Version == 3, not d.Exists(path + ".v1.bak")`, copied.Header())
	}
	d.User(copied, "four")
	d.Same(d.Seen(copied.Path()), append(seen, "four"))
}

// Files that are no session, or one of a newer version, are left alone.
func TestOpenWriteRefuses(t *testing.T) {
	d := newDesk(t)
	for name, content := range map[string]string{
		"nonsense": "nonsense\n", "no header": world.Said("a", "", "x") + "\n", "torn header": `{"type":"session","id":"s"`,
		"blank": "\n\n", "spaces": "   \n", "NULs": "\x00\x00\x00", "empty": "",
		"newer": strings.Replace(world.Log("s", "/w"), `"version":3`, `"version":4`, 1),
	} {
		path := d.Put("x/"+name+".jsonl", content)
		if s, err := d.OpenWrite(t.Context(), path, d.fill(store.CreateOptions{})); err == nil {
			t.Errorf("%s is opened: %+v", name, s.Header())
		} else if !errors.Is(err, store.ErrNotSession) && !errors.Is(err, store.ErrNewer) {
			t.Errorf("%s: %v; want not (!errors.Is(err, store.ErrNotSession) && !errors.Is(err, store.ErrNewer))", name, err)
		}
		got, err := os.ReadFile(path)
		d.Must(err)
		if string(got) != content {
			t.Errorf("%s was changed", name)
		}
	}
	missing := filepath.Join(d.Home, "x", "missing.jsonl")
	if _, err := d.OpenWrite(t.Context(), missing, d.fill(store.CreateOptions{})); err == nil || d.Exists(missing) {
		t.Errorf("missing: %v", err)
	}
}

// If asked to, OpenWrite begins a session where a file is missing or empty, and where one cannot be read, whose bytes are kept.
func TestOpenWriteBegins(t *testing.T) {
	d := newDesk(t)
	begin := store.WriteOptions{Create: true, ReplaceUnreadable: true}
	for name, content := range map[string]string{"empty": "", "nonsense": "nonsense\n", "blank": "\n\n", "torn header": `{"type":"session","id":"s"`} {
		path := d.Put("x/"+name+".jsonl", content)
		s := d.Edit(path, begin)
		if s.Header().Raw == nil || s.Tree().Len() != 0 {
			t.Errorf("%s: %+v; want s.Header().Raw != nil, s.Tree().Len() == 0", name, s.Header())
		}
		if got := d.ReadLines(path); len(got) != 1 || got[0] != string(s.Header().Raw) {
			t.Errorf("%s: %q; want len(got) == 1, got[0] == string(s.Header().Raw)", name, got)
		}
		d.User(s, "hello")
		d.MemoryEqualsDisk(s)
		kept, _ := filepath.Glob(path + ".unreadable-*")
		if (len(kept) == 1) != (content != "") {
			t.Errorf("%s: kept %v", name, kept)
		}
		if len(kept) == 1 {
			if got, err := os.ReadFile(kept[0]); err != nil || string(got) != content {
				t.Errorf("%s: kept %q, %v", name, got, err)
			}
		}
	}
	omp := filepath.Join(d.Home, "x", "omp.jsonl")
	s := d.Edit(omp, begin)
	if !d.Exists(omp) {
		t.Error("omp writes the header at once")
	}
	d.User(s, "hello")
	d.Same(d.Seen(omp), []string{"hello"})
	path := filepath.Join(d.Home, "x", "pi.jsonl")
	opt := d.fill(store.CreateOptions{Dialect: d.Format("pi"), Title: "T", Write: begin})
	s = d.Closing(d.OpenWrite(t.Context(), path, opt))
	if !d.Exists(path) {
		t.Error("a named file is written at once")
	}
	d.User(s, "hello")
	d.Same(d.Seen(path), []string{"hello"})
	d.MemoryEqualsDisk(s)
}

// Entries on a last line that is not one JSON value stay there: nothing is moved aside as torn.
func TestLooseEnd(t *testing.T) {
	for name, end := range map[string]string{
		"behind a torn record": `{"type":"message","id":"x","par` + world.Said("b", "a", "two"),
		"two on a line":        world.Said("b", "a", "two") + world.Said("c", "b", "three"),
		"before a torn record": world.Said("b", "a", "two") + `{"type":"message","id":"x","par`,
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			path := d.Put("x/a.jsonl", strings.TrimSuffix(world.Log("s", "/w", world.Said("a", "", "one"), end), "\n"))
			s := d.Edit(path, store.WriteOptions{})
			want := d.Texts(s)
			got := d.Say(s, "user", "last")
			if got.Foreign != 0 {
				t.Errorf("%+v; want got.Foreign == 0", got)
			}
			d.Same(d.Seen(path), append(want, "last"))
			d.MemoryEqualsDisk(s)
			if lines := d.ReadLines(path); lines[2] != end {
				t.Errorf("%q became %q", end, lines[2])
			}
			if torn, _ := filepath.Glob(path + ".torn-*"); len(torn) > 0 {
				t.Errorf("moved away: %v", torn)
			}
			d.User(s, "more")
			d.MemoryEqualsDisk(s)
		})
	}
}
