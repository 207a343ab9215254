package postgres_test

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	store "github.com/treeline-dev/treeline/backend/postgres"
	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/postgres"
	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/internal/pgtest"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// archive is a database with the sessions of two machines, and all ways to read it.
type archive struct {
	*testing.T
	url string
	m   *place.Machine
	b   backend.Backend // of the whole archive
	now time.Time
	// found counts hits: comparing nothing proves nothing.
	found int
}

func newArchive(t *testing.T, name string) *archive {
	t.Helper()
	a := &archive{T: t, url: pgtest.Shared(t).Database(t, name), now: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)}
	a.m = a.machine()
	b, err := store.Open(a.url, store.Options{}, backend.OpenOptions{})
	a.must(err)
	t.Cleanup(func() { b.Close() })
	a.b = b
	return a
}

// machine returns a machine that has only the archive.
func (a *archive) machine() *place.Machine {
	opt := world.Options(a.TempDir(), nil)
	opt.Drivers = []backend.Driver{store.Driver(store.Options{})}
	opt.Roots = []string{a.url}
	m := place.New(opt)
	a.Cleanup(func() { m.Close() })
	return m
}

func (a *archive) must(err error) {
	a.Helper()
	if err != nil {
		a.Fatal(err)
	}
}

// local returns a finder with an index in memory, which lists and reads all logs.
func (a *archive) local() *find.Finder { return find.New(a.m, index.Open(index.Options{}), a.clock) }

// shared returns a finder with the index in the database.
func (a *archive) shared() *find.Finder {
	x, err := postgres.Open(a.url)
	a.must(err)
	f := find.NewShared(a.m, x, a.clock)
	a.Cleanup(func() { f.Close() })
	return f
}

func (a *archive) clock() time.Time { return a.now }

// push copies the sessions of a home folder to the archive.
func (a *archive) push(origin, home string) {
	a.Helper()
	opt := world.Options(home, nil)
	m := place.New(opt)
	defer m.Close()
	for _, src := range append(m.Sources(), m.RunSources()...) {
		if src.Needs != "" {
			continue
		}
		b, err := m.Open(src.Root.Sessions)
		a.must(err)
		for l, err := range b.List(a.Context(), "") {
			a.must(err)
			if !src.Owns(l.Name) {
				continue
			}
			var content []byte
			for r, err := range b.Read(a.Context(), l, 0) {
				a.must(err)
				content = append(append(content, r.Data...), '\n')
			}
			_, err := a.b.(backend.Mirror).Overwrite(a.Context(), backend.Log{Name: origin + "/" + place.SourceName(m.Env(), src) + "/" + l.Name}, "", bytes.NewReader(content))
			if errors.Is(err, backend.ErrExist) {
				continue // sources that share a folder
			}
			a.must(err)
		}
	}
}

// hit has the fields of a hit that must be equal.
type hit struct {
	Path, Entry, Type, Snippet, Field, Label, Short string
	Role                                            session.Role
	Line                                            int
	Time                                            session.Time
	OnPath, Shared                                  bool
	Marks                                           [][2]int
}

func hits(res *find.Result) (list []hit) {
	for i := range res.Hits {
		h := &res.Hits[i]
		one := hit{
			Entry: string(h.Entry), Type: h.Type, Snippet: h.Snippet, Field: h.Field.String(), Label: h.Label, Role: h.Role, Line: h.Line,
			Time: h.Time, OnPath: h.OnPath, Shared: h.Shared, Marks: h.Marks,
		}
		if h.Session != nil {
			one.Path, one.Short = h.Session.Path, h.Session.Short
		} else {
			one.Path = h.Run.Path
		}
		list = append(list, one)
	}
	// The order of hits of the same time in different sessions is not defined.
	slices.SortStableFunc(list, func(a, b hit) int {
		x, _ := a.Time.Time()
		y, _ := b.Time.Time()
		return cmp.Or(y.Compare(x), strings.Compare(a.Path, b.Path))
	})
	return list
}

// sameHits searches both ways and compares.
func (a *archive) sameHits(local, shared *find.Finder, text string, opt find.Options) {
	a.Helper()
	opt.Problem = func(err error) { a.Errorf("the search for %q told: %v", text, err) }
	want, err := local.Search(a.Context(), text, opt)
	got, gotErr := shared.Search(a.Context(), text, opt)
	if (err == nil) != (gotErr == nil) {
		a.Fatalf("%q: %v, want %v", text, gotErr, err)
	}
	if err != nil {
		return
	}
	if diff := difftest.Diff(hits(want), hits(got)); diff != "" {
		a.Fatalf("%q with %+v (-local +shared):\n%s", text, opt, diff)
	}
	a.found += len(got.Hits)
	if want.Substring != got.Substring || want.More != got.More || want.Nothing != got.Nothing {
		a.Errorf("%q: %+v; want want.Substring == %v, want.More == %v, want.Nothing == %v", text, got, got.Substring, got.More, got.Nothing)
	}
}

// phrases returns pairs of words from the texts of all sessions; common words are more frequent among them than rare ones.
func (a *archive) phrases() (list []string) {
	pair := regexp.MustCompile(`[A-Za-z]{3,} [A-Za-z]{3,}`)
	for l, err := range a.b.List(a.Context(), "") {
		a.must(err)
		for r, err := range a.b.Read(a.Context(), l, 0) {
			a.must(err)
			if s := pair.FindAllString(string(r.Data), 4); s != nil {
				list = append(list, s...)
			}
		}
	}
	return list
}

// TestSame: lists and searches of the shared index return what an index of this machine returns, for sessions of all dialects, also after
// logs grew, were replaced and were removed.
func TestSame(t *testing.T) {
	t.Parallel()
	a := newArchive(t, "same")
	one, two := t.TempDir(), t.TempDir()
	_, err := gen.Machine(one, 1)
	a.must(err)
	a.must(gen.Tree(filepath.Join(two, ".omp/agent"), gen.TreeOptions{Seed: 2, Sessions: 6}))
	if soaktest.Every() { // the first machine has all dialects
		_, err = gen.Machine(two, 2)
		a.must(err)
	}
	a.push("one-00000001", one)
	a.push("two-00000002", two)
	r := rand.New(rand.NewPCG(3, 4))
	texts := a.phrases()
	shared := a.shared()
	for round := range 2 {
		local := a.local()
		a.sameRows(local, shared, round)
		for range soaktest.Part(15, 3) {
			a.sameHits(local, shared, queryOf(r, texts), a.options(r))
		}
		a.sameHits(local, shared, "nosuchwordanywhere", find.Options{})
		a.sameHits(local, shared, `[A-Z][a-z]+Error\b`, find.Options{Regexp: true, Limit: 5})
		if round == 0 {
			a.change(r)
		}
	}
	// A copy of a session becomes an original when that session is removed.
	rows, err := shared.Catalogue(t.Context(), find.RefreshOptions{})
	a.must(err)
	copied := slices.IndexFunc(rows, func(r place.Row) bool { return r.Known != nil && r.Known.Forked != 0 && r.Parent != "" })
	if copied < 0 {
		t.Fatal("no session is a copy of another")
	}
	for l, err := range a.b.List(t.Context(), "") {
		if a.must(err); strings.HasSuffix(rows[copied].Parent, "/"+l.Name) {
			a.must(a.b.Remove(t.Context(), l))
		}
	}
	a.sameRows(a.local(), shared, 2)
	if a.found < soaktest.Part(100, 20) {
		t.Errorf("only %d hits were compared", a.found)
	}
}

// queryOf makes a query from texts that occur.
func queryOf(r *rand.Rand, texts []string) string {
	phrase := texts[r.IntN(len(texts))]
	word, other, _ := strings.Cut(phrase, " ")
	switch r.IntN(7) {
	case 0:
		return word + " " + other
	case 1:
		return "*" + word[1:] + "*"
	case 2:
		return `"` + phrase + `"`
	case 3:
		return word[:2] + "*"
	case 4:
		return word + " -" + other
	case 5:
		return word[1:] // usually not a word, so it is searched as a part of one
	}
	return word
}

// options makes options of a search.
func (a *archive) options(r *rand.Rand) (o find.Options) {
	if r.IntN(2) == 0 {
		o.Limit = 1 + r.IntN(20)
	}
	switch r.IntN(8) {
	case 0:
		o.Source = []string{"claude", "omp", "codex", "wave"}[r.IntN(4)]
	case 1:
		o.CWD = gen.MachineCWD
	case 2:
		o.Since = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	case 3:
		o.Until = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	case 4:
		o.Labelled = true
	case 5:
		o.Case = true
	case 6:
		o.Fields = query.FieldUser
	case 7:
		o.Rank, o.Limit = true, 0 // the scores differ a little, so all hits are compared
	}
	return o
}

// change makes logs grow, replaces one and removes one.
func (a *archive) change(r *rand.Rand) {
	var logs []backend.Log
	for l, err := range a.b.List(a.Context(), "") {
		a.must(err)
		if strings.HasSuffix(l.Name, ".jsonl") {
			logs = append(logs, l)
		}
	}
	at := func() backend.Log {
		l, err := a.b.Stat(a.Context(), logs[r.IntN(len(logs))].Name)
		if err != nil {
			return a.at(logs, r)
		}
		return l
	}
	for range 4 {
		l := at()
		var last []byte
		for rec, err := range a.b.Read(a.Context(), l, 0) {
			a.must(err)
			last = bytes.Clone(rec.Data)
		}
		// The last record again: agents may write such a duplicate, too.
		_, err := a.b.Append(a.Context(), l, last, last)
		a.must(err)
	}
	l := at()
	var half [][]byte
	for rec, err := range a.b.Read(a.Context(), l, 0) {
		a.must(err)
		if half = append(half, bytes.Clone(rec.Data)); rec.Offset > l.Size/2 {
			break
		}
	}
	_, err := a.b.Replace(a.Context(), l, half...)
	a.must(err)
	a.must(a.b.Remove(a.Context(), at()))
}

func (a *archive) at(logs []backend.Log, r *rand.Rand) backend.Log {
	for {
		if l, err := a.b.Stat(a.Context(), logs[r.IntN(len(logs))].Name); err == nil {
			return l
		}
	}
}

// sameCatalogue compares the catalogues.
func (a *archive) sameCatalogue(local, shared *find.Finder) {
	a.Helper()
	want, err := local.Catalogue(a.Context(), find.RefreshOptions{Problem: func(err error) { a.Error(err) }})
	a.must(err)
	got, err := shared.Catalogue(a.Context(), find.RefreshOptions{Problem: func(err error) { a.Error(err) }})
	a.must(err)
	byPath := func(x, y place.Row) int { return strings.Compare(x.Path, y.Path) }
	slices.SortFunc(want, byPath)
	slices.SortFunc(got, byPath)
	if diff := difftest.Diff(want, got, difftest.EmptyIsNil, difftest.Without("Row.Source", "Row.Dialect", "Row.Err")); diff != "" {
		a.Fatalf("the catalogue (-local +shared):\n%s", diff)
	}
}

// sameRows compares the catalogues, and pages in all orders.
func (a *archive) sameRows(local, shared *find.Finder, round int) {
	a.Helper()
	a.sameCatalogue(local, shared)
	filters := []place.Filter{{}, {Source: "claude"}, {CWD: gen.MachineCWD}, {Has: index.HasBranch}, {Model: "*"}, {Title: "*a*"},
		{Since: time.Date(2026, 3, 2, 6, 0, 0, 0, time.UTC), Until: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)}}
	for i, by := range place.Orders {
		filter := filters[(i+round)%len(filters)]
		want, total := a.pages(local, by, filter, 0)
		got, gotTotal := a.pages(shared, by, filter, 12)
		if diff := difftest.Diff(want, got); diff != "" || total != gotTotal {
			a.Fatalf("by %s, %+v, %d and %d (-local +shared):\n%s", by, filter, total, gotTotal, diff)
		}
	}
}

// pages returns the paths of a list that is read in pages, and their number. Paths that are equal in the order are sorted.
func (a *archive) pages(f *find.Finder, by place.Order, filter place.Filter, size int) (paths []string, total int) {
	a.Helper()
	opt := find.ListOptions{Order: by, Filter: filter, Limit: size, Total: true}
	var rows []place.Row
	for {
		p, err := f.List(a.Context(), opt)
		a.must(err)
		if rows, total = append(rows, p.Rows...), p.Total; p.Next == "" {
			break
		}
		opt.After = p.Next
	}
	for i := range rows {
		paths = append(paths, fmt.Sprint(rows[i].When().UnixNano(), " ", rows[i].Path))
	}
	if by == place.OrderWhen {
		slices.Sort(paths) // ties are sorted differently
		slices.Reverse(paths)
	}
	return paths, total
}

// A caller that may see only some projects does not learn from a score how common a word is in other projects.
func TestRankLimited(t *testing.T) {
	t.Parallel()
	a := newArchive(t, "ranked")
	put := func(name, cwd, said string) {
		text := fmt.Sprintf(`{"type":"session","version":3,"id":%q,"timestamp":"2026-02-16T10:00:00.000Z","cwd":%q}`+"\n"+
			`{"type":"message","id":"m1","parentId":null,"timestamp":"2026-02-16T10:00:01.000Z","message":{"role":"user","content":%q}}`+"\n", name, cwd, said)
		_, err := a.b.(backend.Mirror).Overwrite(a.Context(), backend.Log{Name: "laptop-00000001/omp/-p/" + name + ".jsonl"}, "", strings.NewReader(text))
		a.must(err)
	}
	score := func() float64 {
		res, err := a.shared().Search(a.Context(), "tomatoes", find.Options{Rank: true, Project: func(cwd string) bool { return cwd == "/garden" }})
		a.must(err)
		if len(res.Hits) != 1 {
			t.Fatalf("%d hits", len(res.Hits))
		}
		return res.Hits[0].Score
	}
	put("beds", "/garden", "tomatoes")
	before := score()
	for i := range 5 {
		put(fmt.Sprint("vault", i), "/vault", "tomatoes")
	}
	if after := score(); before == 0 || after != before {
		t.Errorf("the score was %v and is %v", before, after)
	}
}

// A cursor that does not come from a page is refused as such, in every order.
func TestHostileCursors(t *testing.T) {
	t.Parallel()
	a := newArchive(t, "cursors")
	f := a.shared()
	for _, order := range place.Orders {
		for _, text := range []string{`{}`, `{"Key":[1]}`, `{"Key":{"a":1}}`, `{"Key":true}`, `{"Key":1,"Name":"\u0000"}`, `{"Key":"a","Name":"\u0000"}`, `{"Key":1e400}`, `[]`, `x`} {
			_, err := f.List(a.Context(), find.ListOptions{Order: order, Limit: 1, After: base64.RawURLEncoding.EncodeToString([]byte(text))})
			if !errors.Is(err, find.ErrCursor) {
				t.Errorf("%s by %s: %v", text, order, err)
			}
		}
		for _, text := range []string{`{"Key":"' or 1=1 --","Name":"' or 1=1 --"}`, `{"Key":-9,"Name":"%_\\"}`, `{"Key":0.5}`} {
			if page, err := f.List(a.Context(), find.ListOptions{Order: order, Limit: 1, After: base64.RawURLEncoding.EncodeToString([]byte(text))}); err != nil && !errors.Is(err, find.ErrCursor) {
				t.Errorf("%s by %s: %v, %v", text, order, page, err)
			}
		}
	}
}
