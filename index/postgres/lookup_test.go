package postgres_test

import (
	"fmt"
	"strings"
	"testing"

	store "github.com/treeline-dev/treeline/backend/postgres"
	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

// Sessions are found by their names as in a list of all, also behind a server; directories are listed; a total is bounded.
func TestLookUp(t *testing.T) {
	t.Parallel()
	a := newArchive(t, "lookup")
	for i := range 12 {
		a.create(fmt.Sprint("bed", i), "tomato")
	}
	shared, local := a.shared(), a.local()
	b := newBox(t, a.url, indexes())
	c := a.behind(b)
	remote := find.NewShared(c.m, b.index(t), c.clock)
	all, err := local.Catalogue(t.Context(), find.RefreshOptions{})
	a.must(err)
	shown, err := store.Driver(store.Options{}).Shown(a.url)
	a.must(err)
	for _, c := range []struct {
		keys find.Keys
		want int
	}{
		{find.Keys{}, 0},
		{find.Keys{IDs: []session.ID{"bed3", "bed", "bed33", "\x00"}}, 1},
		{find.Keys{Paths: []string{all[2].Path, all[2].Path + "x", "/elsewhere", ""}}, 1},
		{find.Keys{Files: []string{index.LastPart(all[5].Path), "none.jsonl", "%"}}, 1},
		{find.Keys{IDs: []session.ID{all[1].ID}, Paths: []string{all[1].Path, all[2].Path}, Files: []string{index.LastPart(all[4].Path)}}, 3},
		{find.Keys{Parents: []string{"bed1", ""}}, 0},
	} {
		var paths [3][]string
		for i, f := range []*find.Finder{local, shared, remote} {
			if f == remote { // where the archive has another URL
				for k, path := range c.keys.Paths {
					c.keys.Paths[k] = strings.Replace(path, shown, b.URL, 1)
				}
			}
			rows, err := f.LookUp(t.Context(), c.keys)
			a.must(err)
			for _, r := range rows {
				paths[i] = append(paths[i], strings.Replace(r.Path, b.URL, shown, 1))
			}
		}
		for _, got := range paths[1:] {
			if diff := difftest.Diff(paths[0], got); diff != "" || len(got) != c.want {
				t.Errorf("%+v: %d sessions, want %d (-local +shared):\n%s", c.keys, len(got), c.want, diff)
			}
		}
	}
	for _, f := range []*find.Finder{shared, remote} {
		dirs, err := f.Projects(t.Context())
		a.must(err)
		if diff := difftest.Diff([]string{"/work/garden"}, dirs); diff != "" {
			t.Errorf("directories (-want +got):\n%s", diff)
		}
	}
	ours := func(cwd string) bool { return cwd == "/work/garden" }
	for _, c := range []struct {
		opt  find.ListOptions
		want int
	}{
		{find.ListOptions{Total: true}, 12},
		{find.ListOptions{Total: true, TotalMost: 12}, 12},
		{find.ListOptions{Total: true, TotalMost: 11}, -1},
		{find.ListOptions{Total: true, TotalMost: 12, Filter: place.Filter{Project: ours}}, 12},
		{find.ListOptions{Total: true, TotalMost: 12, Filter: place.Filter{Project: func(string) bool { return false }}}, 0},
		{find.ListOptions{Total: true, TotalMost: 12, Filter: place.Filter{Title: "*"}}, -1},
	} {
		c.opt.Limit = 5
		for _, f := range []*find.Finder{shared, remote} {
			page, err := f.List(t.Context(), c.opt)
			a.must(err)
			if page.Total != c.want {
				t.Errorf("%+v: %d in all, want %d", c.opt, page.Total, c.want)
			}
		}
	}
}

// If very many ids begin alike, a page shows them whole instead of reading all of them.
func TestManySimilar(t *testing.T) {
	t.Parallel()
	a := newArchive(t, "similar")
	a.create("bedding-00001", "tomato")
	f := a.shared()
	_, err := f.List(t.Context(), find.ListOptions{Limit: 1})
	a.must(err)
	a.exec(`insert into treeline_index.log select gen_random_uuid(), 'one-00000001/omp/' || n || '.jsonl', source, generation, size, entry, chunks, session, run,
		'bedding-1' || n, dialect, cwd, heading, at - n, made, used, touched, messages, tokens, cost, models, has, first, parent
		from treeline_index.log, generate_series(1, 2500) as n`)
	page, err := f.List(t.Context(), find.ListOptions{Limit: 1})
	a.must(err)
	if len(page.Rows) != 1 || page.Rows[0].Short != "bedding-00001" || page.Next == "" {
		t.Errorf("%d rows, the first is %q", len(page.Rows), page.Rows[0].Short)
	}
	res, err := f.Search(t.Context(), "tomato", find.Options{Limit: 1})
	a.must(err)
	if len(res.Hits) != 1 || res.Hits[0].Session.Short != "bedding-00001" || res.Hits[0].Shared {
		t.Errorf("hits %+v", res.Hits)
	}
}
