package find

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
)

// searchDesk returns a desk with two sessions about frogs.
func searchDesk(t *testing.T) *desk {
	t.Helper()
	d := newDesk(t)
	for name, log := range map[string]string{
		"old": `{"type":"session","version":3,"id":"old","timestamp":"2026-01-01T10:00:00.000Z","cwd":"/garden"}
{"type":"message","id":"o1","parentId":null,"timestamp":"2026-01-01T10:00:00.000Z","message":{"role":"user","content":"frog frog frog"}}
{"type":"message","id":"o2","parentId":"o1","timestamp":"2026-01-02T10:00:00.000Z","message":{"role":"user","content":"a frog on a branch that was left"}}
{"type":"message","id":"o3","parentId":"o1","timestamp":"2026-01-03T10:00:00.000Z","message":{"role":"assistant","content":[{"type":"text","text":"one frog"}]}}
{"type":"label","id":"o4","parentId":"o3","timestamp":"2026-01-03T10:00:01.000Z","targetId":"o3","label":"Found"}
`,
		"new": `{"type":"session","version":3,"id":"new","timestamp":"2026-02-01T10:00:00.000Z","cwd":"/pond"}
{"type":"message","id":"n1","parentId":null,"timestamp":"2026-02-01T10:00:00.000Z","message":{"role":"user","content":"a frog among very many other words that say nothing about it at all"}}
`,
	} {
		path := d.Put(".omp/agent/sessions/-garden/"+name+".jsonl", log)
		at := time.Date(2026, 1, 4, 0, 0, 0, 0, time.UTC)
		if name == "new" {
			at = at.AddDate(0, 1, 0)
		}
		d.Must(os.Chtimes(path, at, at))
	}
	return d
}

// What Rewrite removes is neither found nor shown.
func TestSearchRewrite(t *testing.T) {
	t.Parallel()
	d := searchDesk(t)
	f := d.finder(nil)
	opt := Options{Rewrite: func(record []byte) []byte { return bytes.ReplaceAll(record, []byte("frog"), []byte("toad")) }}
	if before := d.search(f, "frog", Options{}); len(before.Hits) != 4 {
		t.Fatalf("%d hits", len(before.Hits))
	}
	if res := d.search(f, "frog", opt); len(res.Hits) != 0 {
		t.Errorf("what was taken out is found: %+v", res.Hits)
	}
	res := d.search(f, "among", opt)
	if len(res.Hits) != 1 || !strings.Contains(res.Hits[0].Snippet, "a toad among") {
		t.Errorf(`%+v; want len(res.Hits) == 1, strings.Contains(res.Hits[0].Snippet, "a toad among")`, res.Hits)
	}
}

// A search uses a log that the caller has read, reports when it is done with it, and does not close it.
func TestSearchOpen(t *testing.T) {
	t.Parallel()
	d := searchDesk(t)
	f := d.finder(nil)
	var held *logtree.Log
	uses, done := 0, 0
	opt := Options{Open: func(ctx context.Context, row *place.Row) (*logtree.Log, func()) {
		if row.ID != "old" {
			return nil, nil
		}
		uses++
		if held == nil {
			at, err := f.m.Locate(row.Path)
			d.Must(err)
			held, err = f.m.OpenLog(ctx, at, row.Dialect)
			d.Must(err)
		}
		return held, func() { done++ }
	}}
	for range 2 {
		if res := d.search(f, "frog", opt); len(res.Hits) != 4 {
			t.Errorf("%d hits", len(res.Hits))
		}
	}
	if uses != 2 || done != 2 {
		t.Errorf("asked %d times, done %d times", uses, done)
	}
	if raw, err := held.Tree.At(0).Raw(); err != nil || !strings.Contains(string(raw), "frog") {
		t.Errorf("the log was closed: %v", err)
	}
	d.Must(held.Close())
}

func TestSearchOptions(t *testing.T) {
	t.Parallel()
	d := searchDesk(t)
	f := d.finder(nil)
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	for name, c := range map[string]struct {
		opt  Options
		want []string
	}{
		"newest first":  {Options{}, []string{"new#n1", "old#o3", "old#o2", "old#o1"}},
		"best first":    {Options{Rank: true}, []string{"old#o1", "old#o3", "old#o2", "new#n1"}},
		"the best":      {Options{Rank: true, Limit: 1}, []string{"old#o1"}},
		"since":         {Options{Since: day(3)}, []string{"new#n1", "old#o3"}},
		"until":         {Options{Until: day(3)}, []string{"old#o2", "old#o1"}},
		"a directory":   {Options{CWD: "/pond"}, []string{"new#n1"}},
		"labelled":      {Options{Labelled: true}, []string{"old#o3"}},
		"another label": {Options{Labelled: true, Label: "lost"}, nil},
		"that label":    {Options{Labelled: true, Label: "found"}, []string{"old#o3"}},
	} {
		t.Run(name, func(t *testing.T) {
			res := d.search(f, "frog", c.opt)
			var got []string
			for _, h := range res.Hits {
				got = append(got, string(h.Session.ID)+"#"+string(h.Entry))
				if h.OnPath != (h.Entry != "o2") {
					t.Errorf("%s: on the path %v", h.Entry, h.OnPath)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}

// sealed is a file system whose logs cannot be opened.
type sealed struct{ durable.FS }

func (s sealed) Open(name string, flag int, perm fs.FileMode) (durable.File, error) {
	if strings.HasSuffix(name, ".jsonl") {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return s.FS.Open(name, flag, perm)
}

// TestSearchNothing: Nothing means that there are no sessions. Sessions that cannot be read count as sessions, and each is reported, with
// and without a filter.
func TestSearchNothing(t *testing.T) {
	t.Parallel()
	for _, opt := range []Options{{}, {Source: "omp"}} {
		d := searchDesk(t)
		d.FS = sealed{d.FS}
		var told []error
		opt.Problem = func(err error) { told = append(told, err) }
		res, err := d.finder(nil).Search(t.Context(), "frog", opt)
		if err != nil || res.Nothing || len(res.Hits) > 0 || len(told) != 2 {
			t.Errorf("%+v: %+v, %v, and was told of %q", opt.Source, res, err, told)
		}
		opt.Problem = nil
		if res, err = newDesk(t).finder(nil).Search(t.Context(), "frog", opt); err != nil || !res.Nothing {
			t.Errorf("where nothing is: %+v, %v", res, err)
		}
	}
}

// TestSearchNewestFirst: the hits of sessions that were used in turns are ordered by their times, with any limit and whichever file was
// touched last.
func TestSearchNewestFirst(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	f := d.finder(nil)
	const turns, sessions = 12, 3
	begin := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	at := func(turn, n int) time.Time { return begin.Add(time.Duration(turn*sessions+n) * time.Minute) }
	var want []string
	for n := range sessions {
		log := fmt.Sprintf(`{"type":"session","version":3,"id":"s%d","timestamp":%q,"cwd":"/garden"}`+"\n", n, at(0, n).Format(time.RFC3339))
		for turn := range turns {
			parent := "null"
			if turn > 0 {
				parent = fmt.Sprintf(`"e%02d-%d"`, turn-1, n)
			}
			id := fmt.Sprintf("e%02d-%d", turn, n)
			log += fmt.Sprintf(`{"type":"message","id":%q,"parentId":%s,"timestamp":%q,"message":{"role":"user","content":"a frog"}}`+"\n",
				id, parent, at(turn, n).Format(time.RFC3339))
			want = append(want, id)
		}
		path := d.Put(fmt.Sprintf(".omp/agent/sessions/-garden/s%d.jsonl", n), log)
		touched := begin.AddDate(0, 1, -n) // the session that was used first is touched last
		d.Must(os.Chtimes(path, touched, touched))
	}
	slices.Sort(want)
	slices.Reverse(want)
	for _, limit := range []int{1, 2, 5, turns, turns*sessions - 1, 0} {
		res := d.search(f, "frog", Options{Limit: limit})
		var got []string
		for _, h := range res.Hits {
			got = append(got, string(h.Entry))
		}
		expected := want
		if limit > 0 {
			expected = want[:limit]
		}
		if !slices.Equal(got, expected) || res.More != (limit > 0) {
			t.Errorf("limit %d: found %q and more %v, want %q", limit, got, res.More, expected)
		}
	}
}

// TestSearchSharedID: a hit reports whether another session has the same id.
func TestSearchSharedID(t *testing.T) {
	t.Parallel()
	d := searchDesk(t)
	f := d.finder(nil)
	log, err := os.ReadFile(d.path("-garden/new.jsonl"))
	d.Must(err)
	d.Put(".omp/agent/sessions/-garden/copy.jsonl", string(log))
	res := d.search(f, "frog", Options{})
	if len(res.Hits) != 5 {
		t.Errorf("%d hits, want 5", len(res.Hits))
	}
	for _, h := range res.Hits {
		if h.Shared != (h.Session.ID == "new") {
			t.Errorf("%s: shared %v", h.Session.Path, h.Shared)
		}
	}
}

// TestSearchNames: the id, the parent and the type of an opaque entry are not among its texts, neither for terms nor for excluded terms.
// The id of any other entry is.
func TestSearchNames(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	f := d.finder(nil)
	d.Put(".omp/agent/sessions/-garden/names.jsonl", `{"type":"session","version":3,"id":"names","timestamp":"2026-02-16T10:00:00.000Z","cwd":"/garden"}
{"type":"message","id":"0000aaaa","parentId":null,"timestamp":"2026-02-16T10:00:01.000Z","message":{"role":"user","content":"hello"}}
{"type":"message","id":"0000bbbb","parentId":"0000aaaa","timestamp":"2026-02-16T10:00:02.000Z","message":{"role":"user","content":"hello"}}
{"type":"novel","id":"0000cccc","parentId":"0000bbbb","timestamp":"2026-02-16T10:00:03.000Z","about":["0000aaaa","lantern"]}
`)
	for query, want := range map[string]int{
		"lantern": 1, "lantern -0000cccc": 1, "lantern -0000bbbb": 1, "lantern -novel": 1, "lantern -0000aaaa": 0,
		"lantern 0000aaaa": 1, "lantern 0000bbbb": 0, "0000cccc": 0, "novel": 0,
	} {
		res := d.search(f, query, Options{})
		if len(res.Hits) != want {
			t.Errorf("%q: %d hits, want %d", query, len(res.Hits), want)
		}
	}
}

// TestSearchHugeRecord: a huge record is found by words and by an expression.
func TestSearchHugeRecord(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	f := d.finder(nil)
	text := strings.Repeat("reeds and more reeds ", 1<<18) + "one frog"
	d.Put(".omp/agent/sessions/-garden/huge.jsonl", `{"type":"session","version":3,"id":"huge","timestamp":"2026-02-16T10:00:00.000Z","cwd":"/garden"}
{"type":"message","id":"h1","parentId":null,"timestamp":"2026-02-16T10:00:01.000Z","message":{"role":"user","content":"`+text+`"}}
{"type":"message","id":"h2","parentId":"h1","timestamp":"2026-02-16T10:00:02.000Z","message":{"role":"user","content":"a small frog"}}
`)
	for query, want := range map[string][]string{
		"frog": {"huge#h2", "huge#h1"}, `"reeds one frog"`: {"huge#h1"}, "small reeds": nil, "eed": {"huge#h1"}, `one f\w+$`: {"huge#h1"},
	} {
		res := d.search(f, query, Options{Regexp: strings.HasSuffix(query, "$")})
		var got []string
		for _, h := range res.Hits {
			got = append(got, string(h.Session.ID)+"#"+string(h.Entry))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q finds %q, want %q", query, got, want)
		}
	}
	rows, err := f.Catalogue(t.Context(), RefreshOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if p := rows[0].Prompt; len(p) == 0 || len(p) > 600 || !strings.HasPrefix(p, "reeds and more") {
		t.Errorf("the catalogue keeps %d bytes of the prompt", len(p))
	}
}
