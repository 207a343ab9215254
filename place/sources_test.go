package place_test

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/watch"
)

func TestMain(m *testing.M) { os.Exit(soaktest.Main(m)) }

// Added roots may lie inside known sources, around them, or be the same through a link: each log is listed once.
func TestSourcesOverlap(t *testing.T) {
	const agents = ".omp/agent/sessions"
	for _, tt := range []struct {
		name  string
		extra []string // below home
		asked bool
		want  []string // the folders of the sources that have sessions, and how many
	}{
		{"inside", []string{agents + "/-q-"}, false, []string{agents + " 3"}},
		{"a link", []string{"link"}, false, []string{agents + " 3"}},
		{"around", []string{"."}, false, []string{agents + " 3", ". 2"}},
		{"around and inside", []string{".", "more", agents + "/-q-"}, false, []string{agents + " 3", "more 1", ". 1"}},
		{"around a link", []string{".omp/agent/", "link"}, false, []string{agents + " 3"}},
		{"asked for", []string{".", agents + "/-q-"}, true, []string{agents + "/-q- 2", ". 3"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			var all []string
			for i, name := range []string{"-p-/a.jsonl", "-q-/b.jsonl", "-q-/deep/c.jsonl", "../../../more/d.jsonl", "../../../e.jsonl"} {
				id := fmt.Sprintf("%08d", i)
				all = append(all, w.Old(path.Join(agents, name), world.Log(id, "/p", world.Said("m"+id, "", "turnips"))))
			}
			if err := os.Symlink(filepath.Join(w.Home, agents), filepath.Join(w.Home, "link")); err != nil {
				if runtime.GOOS != "windows" { // where links need privileges
					t.Fatal(err)
				}
				// What a link would show is there all the same. Without one it is named, which means the same.
				for i, dir := range tt.extra {
					tt.extra[i] = strings.Replace(dir, "link", agents, 1)
				}
			}
			for _, dir := range tt.extra {
				if tt.asked {
					w.Roots = append(w.Roots, w.At(dir))
				} else {
					w.Extra = append(w.Extra, place.ExtraRoot{Path: w.At(dir)})
				}
			}
			m := w.Machine()
			defer m.Close()
			if !slices.Contains(tt.extra, ".") {
				all = all[:3]
			}
			ix := index.Open(index.Options{Dir: t.TempDir()})
			defer ix.Close()
			checkOnce(t, m, ix, all)

			infos, err := m.LookAtSources(t.Context(), ix.Catalogue())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, i := range infos {
				if i.Sessions > 0 || i.Why == place.WhyConfig {
					rel, _ := filepath.Rel(w.Home, i.Root.Sessions)
					got = append(got, fmt.Sprint(filepath.ToSlash(rel), " ", i.Sessions))
				}
			}
			if diff := difftest.Diff(tt.want, got); diff != "" {
				t.Errorf("sources (-want +got):\n%s", diff)
			}
		})
	}
}

// checkOnce checks that every list of sessions finds each of these once.
func checkOnce(t *testing.T, m *place.Machine, ix *index.Index, want []string) {
	t.Helper()
	want = slices.Sorted(slices.Values(want))
	check := func(what string, got []string, err error) {
		t.Helper()
		slices.Sort(got)
		if diff := difftest.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s (-want +got): %v\n%s", what, err, diff)
		}
	}
	paths := func(rows []place.Row) (list []string) {
		for i := range rows {
			list = append(list, rows[i].Path)
		}
		return list
	}
	rows, err := m.List(t.Context(), place.ListOptions{})
	check("List", paths(rows), err)
	for i := range rows {
		if r, err := m.Find(t.Context(), string(rows[i].ID)); err != nil || r.Path != rows[i].Path {
			t.Errorf("Find(%s) = %s, %v", rows[i].ID, r.Path, err)
		}
	}
	f := find.New(m, ix, time.Now)
	rows, err = f.Catalogue(t.Context(), find.RefreshOptions{})
	check("Catalogue", paths(rows), err)

	res, err := f.Search(t.Context(), "turnips", find.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for i := range res.Hits {
		found = append(found, res.Hits[i].Session.Path)
	}
	check("Search", found, nil)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var told []string
	for c, err := range watch.Watch(ctx, m, watch.Options{Last: watch.AllEntries, NoHints: true}) {
		if err != nil {
			t.Fatal(err)
		}
		switch c.Kind {
		case watch.KindStart:
			if c.Sessions != len(want) {
				t.Errorf("Watch begins with %d sessions, want %d", c.Sessions, len(want))
			}
		case watch.KindEntry:
			told = append(told, c.Path)
		}
		if len(told) == len(want) {
			break
		}
	}
	check("Watch", told, nil)
}

// A dialect that the settings name for an agent's folder, or for a part of it, overrides that of the agent. Each log is still listed once.
func TestNamedDialect(t *testing.T) {
	const agents = ".omp/agent/sessions"
	for _, tt := range []struct {
		root string // below home
		want map[string]string
	}{
		{".omp/agent", map[string]string{"a": "omp-doc", "b": "omp-doc", "c": "omp18"}},
		{"link", map[string]string{"a": "omp-doc", "b": "omp-doc", "c": "omp18"}},
		{agents + "/--q--", map[string]string{"a": "omp", "b": "omp-doc", "c": "omp18"}},
		{"more", map[string]string{"a": "omp", "b": "omp", "c": "omp18"}},
	} {
		t.Run(tt.root, func(t *testing.T) {
			t.Parallel()
			w := world.New(t, func(w *world.World) {
				w.Extra = []place.ExtraRoot{{Path: filepath.Join(w.Home, filepath.FromSlash(tt.root)), Dialect: "omp-doc"}}
			})
			slot := `{"type":"title","v":1,"title":"x","updatedAt":"2026-01-01T00:00:00.000Z","pad":""}` + "\n"
			all := []string{
				w.Old(agents+"/-p/a.jsonl", world.Log("a", "/p", world.Said("1", "", "turnips"))),
				w.Old(agents+"/--q--/b.jsonl", world.Log("b", "/q", world.Said("2", "", "turnips"))),
				w.Old(agents+"/--q--/c.jsonl", slot+world.Log("c", "/q", world.Said("3", "", "turnips"))),
			}
			if err := os.Symlink(filepath.Join(w.Home, agents), filepath.Join(w.Home, "link")); err != nil {
				t.Skipf("SKIPPED: the system makes no symbolic links: %v", err)
			}
			m := w.Machine()
			defer m.Close()
			ix := index.Open(index.Options{Dir: t.TempDir()})
			defer ix.Close()
			checkOnce(t, m, ix, all)
			rows, err := m.List(t.Context(), place.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, r := range rows {
				got[string(r.ID)] = r.Dialect.Name()
			}
			if diff := difftest.Diff(tt.want, got); diff != "" {
				t.Errorf("dialects (-want +got):\n%s", diff)
			}
			if d := m.DialectAt(all[1]).Name(); tt.want["b"] != d {
				t.Errorf("a file beside it is of %s", d)
			}
		})
	}
}

// The name of an agent means all logs in its place, whichever version wrote them.
func TestFilterBySource(t *testing.T) {
	w := world.New(t)
	slot := `{"type":"title","v":1,"title":"x","updatedAt":"2026-01-01T00:00:00.000Z","pad":""}` + "\n"
	w.Put(".omp/agent/sessions/-p/a.jsonl", world.Log("a", "/p", world.Said("1", "", "x")))
	w.Put(".omp/agent/sessions/-p/b.jsonl", slot+world.Log("b", "/p", world.Said("1", "", "x")))
	w.Put(".pi/agent/sessions/--p--/c.jsonl", world.Log("c", "/p", world.Said("1", "", "x")))
	for source, want := range map[string][]string{"omp": {"a", "b"}, "omp18": {"b"}, "pi": {"c"}, "omp-doc": nil} {
		rows, err := w.Store.Machine.List(t.Context(), place.ListOptions{})
		w.Must(err)
		rows, err = w.Store.Machine.Filter(rows, place.Filter{Source: source})
		w.Must(err)
		var got []string
		for _, r := range rows {
			got = append(got, string(r.ID))
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", source, got, want)
		}
	}
}

// A pattern that is not UTF-8 finds what its bytes became in a title.
func TestFilterOddPattern(t *testing.T) {
	w := world.New(t)
	w.Put(".omp/agent/sessions/-p/a.jsonl", world.Log("a", "/p", world.Said("1", "", "\uFFFD(x")))
	w.Put(".omp/agent/sessions/-p/b.jsonl", world.Log("b", "/p", world.Said("1", "", "y")))
	rows, err := w.Store.Machine.List(t.Context(), place.ListOptions{})
	w.Must(err)
	rows, err = w.Store.Machine.Filter(rows, place.Filter{Title: "\xff(?"})
	w.Must(err)
	if len(rows) != 1 || rows[0].ID != "a" {
		t.Errorf("%d rows, want the session a alone", len(rows))
	}
	if place.ModelPattern("\xff")("m1") {
		t.Error("m1 matches a pattern of another byte, want no match")
	}
}
