package place

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/treeline-dev/treeline/index"
)

// Added roots may lie inside sources that are known, around them, or be the same behind a link: each log is there once.
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
			m := newMachine(t)
			say := func(id string) string {
				return fmt.Sprintf(header, id, "") + fmt.Sprintf(
					`{"type":"message","id":"m%s","parentId":null,"timestamp":"2026-05-01T10:00:01.000Z","message":{"role":"user","content":"turnips"}}`+"\n", id)
			}
			var all []string
			for i, name := range []string{"-p-/a.jsonl", "-q-/b.jsonl", "-q-/deep/c.jsonl", "../../../more/d.jsonl", "../../../e.jsonl"} {
				m.write(name, say(fmt.Sprintf("%08d", i)))
				all = append(all, m.path(name))
			}
			if err := os.Symlink(filepath.Join(m.home, agents), filepath.Join(m.home, "link")); err != nil {
				if runtime.GOOS != "windows" { // where it needs rights
					t.Fatal(err)
				}
				// What a link would show is there all the same. Without one it is named, which means the same.
				for i, dir := range tt.extra {
					tt.extra[i] = strings.Replace(dir, "link", agents, 1)
				}
			}
			s := m.store(index.Open(index.Options{Dir: t.TempDir()}))
			for _, dir := range tt.extra {
				dir = filepath.Join(m.home, dir)
				if tt.asked {
					s.opt.Roots = append(s.opt.Roots, dir)
				} else {
					s.opt.Extra = append(s.opt.Extra, ExtraRoot{Path: dir})
				}
			}
			if !slices.Contains(tt.extra, ".") {
				all = all[:3]
			}
			checkOnce(t, s, all)

			infos, err := s.LookAtSources(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, i := range infos {
				if i.Sessions > 0 || i.Why == WhyConfig {
					rel, _ := filepath.Rel(m.home, i.Root.Sessions)
					got = append(got, fmt.Sprint(filepath.ToSlash(rel), " ", i.Sessions))
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("sources (-want +got):\n%s", diff)
			}
		})
	}
}

// checkOnce sees to it that all who list sessions find each of these once.
func checkOnce(t *testing.T, s *Store, want []string) {
	t.Helper()
	want = slices.Sorted(slices.Values(want))
	check := func(who string, got []string, err error) {
		t.Helper()
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s (-want +got): %v\n%s", who, err, diff)
		}
	}
	paths := func(rows []Row) (list []string) {
		for i := range rows {
			list = append(list, rows[i].Path)
		}
		return list
	}
	rows, err := s.List(t.Context(), ListOptions{})
	check("List", paths(rows), err)
	for i := range rows {
		if r, err := s.Find(t.Context(), string(rows[i].ID)); err != nil || r.Path != rows[i].Path {
			t.Errorf("Find(%s) = %s, %v", rows[i].ID, r.Path, err)
		}
	}
	rows, err = s.Catalogue(t.Context(), RefreshOptions{})
	check("Catalogue", paths(rows), err)

	res, err := s.Search(t.Context(), "turnips", SearchOptions{})
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
	for c, err := range s.Watch(ctx, WatchOptions{Last: AllEntries, NoHints: true}) {
		if err != nil {
			t.Fatal(err)
		}
		switch c.Kind {
		case ChangeStart:
			if c.Sessions != len(want) {
				t.Errorf("Watch begins with %d sessions, want %d", c.Sessions, len(want))
			}
		case ChangeEntry:
			told = append(told, c.Path)
		}
		if len(told) == len(want) {
			break
		}
	}
	check("Watch", told, nil)
}
