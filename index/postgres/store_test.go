package postgres_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend"
	store "github.com/treeline-dev/treeline/backend/postgres"
	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/remote"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/usage"
)

// stores are three views of one archive: of a program that reads all logs, of a program that uses the index beside them, and of a client of
// a server.
type stores struct {
	whole, paged, client *treeline.Store
	box                  *box
}

// opened returns the stores of an archive, as seen in a working directory.
func (a *archive) opened(cwd string) stores {
	b := newBox(a.T, a.url, indexes())
	direct := []backend.Driver{store.Driver(store.Options{})}
	return stores{a.store(cwd, a.url, direct, nil), a.store(cwd, a.url, direct, indexes()), a.client(b, cwd), b}
}

// store opens an archive for reading.
func (a *archive) store(cwd, root string, drivers []backend.Driver, indexes []index.Driver) *treeline.Store {
	s, err := treeline.New(treeline.Options{Home: a.TempDir(), WorkDir: cwd, Getenv: func(string) string { return "" }, NoBreadcrumbs: true,
		Backends: drivers, Indexes: indexes, Roots: []string{root}, ReadOnly: true, Clock: a.clock})
	a.must(err)
	a.Cleanup(func() { s.Close() })
	return s
}

// client opens the archive of a server.
func (a *archive) client(b *box, cwd string) *treeline.Store {
	return a.store(cwd, b.URL, b.drivers, remote.Drivers(b.drivers))
}

// name returns the name of a log in the archive.
func name(s *treeline.Store, path string) string {
	folder, _ := s.ArchivedFolder(path)
	return folder
}

// everything pushes the sessions of a machine with all agents.
func (a *archive) everything(seed uint64) {
	home := a.TempDir()
	_, err := gen.Machine(home, seed)
	a.must(err)
	a.must(gen.Tree(filepath.Join(home, ".omp/agent"), gen.TreeOptions{Seed: seed, Sessions: 4}))
	a.push("one-00000001", home)
}

// A session is found by each of its names, without listing logs.
func TestNamed(t *testing.T) {
	t.Parallel()
	a := newArchive(t, "named")
	a.everything(5)
	s := a.opened(gen.MachineCWD)
	rows, err := s.whole.Catalogue(t.Context(), treeline.RefreshOptions{})
	a.must(err)
	refs := []string{"@last", "@last~1", "@last~3", "@last~5000", "claude:@last", "omp:@last~1", "nosuchsession", "0", "a"}
	for i := range rows {
		if id := string(rows[i].ID); i%soaktest.Part(2, 8) == 0 && id != "" {
			refs = append(refs, id, id[:min(8, len(id))], id[:min(5, len(id))], strings.ToUpper(id), rows[i].Dialect.Name()+":"+id, "wave:"+id)
		}
	}
	found := 0
	for _, ref := range refs {
		want, wantErr := s.whole.Find(t.Context(), ref)
		for _, other := range []*treeline.Store{s.paged, s.client} {
			s.box.count("/logs")
			s.box.count("/index/select")
			got, err := other.Find(t.Context(), ref)
			var many, others *place.AmbiguousError
			switch {
			case errors.As(wantErr, &many):
				if !errors.As(err, &others) || len(many.Rows) != len(others.Rows) {
					t.Errorf("%s: %v, want %v", ref, err, wantErr)
				}
			case wantErr != nil:
				if !errors.Is(err, place.ErrNoSession) {
					t.Errorf("%s: %v, want %v", ref, err, wantErr)
				}
			case err != nil || name(other, got.Path) != name(s.whole, want.Path):
				t.Errorf("%s: %s, %v, want %s", ref, got.Path, err, want.Path)
			default:
				found++
			}
			if lists, pages := s.box.count("/logs"), s.box.count("/index/select"); err == nil && (lists > 0 || pages > 6) {
				t.Errorf("%s: %d lists of logs and %d pages", ref, lists, pages)
			}
		}
	}
	// A server without an index lists the names of logs, and reads those that may match.
	plain := newBox(t, a.url, nil)
	other := a.client(plain, gen.MachineCWD)
	row, err := other.Find(t.Context(), string(rows[0].ID))
	if n := plain.count("/logs/content"); err != nil || row.ID != rows[0].ID || n > 20 {
		t.Errorf("without an index: %s after %d reads, %v", row.ID, n, err)
	}
	if _, err := s.paged.Find(t.Context(), "@last~1"); err != nil || found < soaktest.Part(50, 25) {
		t.Errorf("only %d names were found, %v", found, err)
	}
}

// Sums are made of some sessions at a time, and equal those of all at once: forks of a session that is gone, conversions, and copies on
// another machine count once.
func TestStats(t *testing.T) {
	t.Parallel()
	a := newArchive(t, "stats")
	a.everything(6)
	home := t.TempDir()
	_, err := gen.Machine(home, 6)
	a.must(err)
	a.push("two-00000002", home) // copies of the first machine
	for i := range 6 {
		// Two have a parent that is gone, two were converted from a session that is gone, two from one that exists.
		from := []string{`"parentSession":"gone-1"`, `"treelineOrigin":{"session":"gone-2"}`, `"treelineOrigin":{"session":"made-0"}`}[i/2]
		text := fmt.Sprintf(`{"type":"session","version":3,"id":"made-%d","timestamp":"2026-02-16T10:00:00.000Z","cwd":"/beds",%s}`+"\n", i, from)
		for k := range 3 + i {
			text += fmt.Sprintf(`{"type":"message","id":"m%d","parentId":null,"timestamp":"2026-02-%02dT09:%02d:00.000Z","message":{"role":"user","content":"tomatoes"}}`+"\n", k, 14+k, i)
		}
		_, err := a.b.(backend.Mirror).Overwrite(t.Context(), backend.Log{Name: fmt.Sprintf("three-00000003/omp/-p/%d.jsonl", i)}, "", strings.NewReader(text))
		a.must(err)
	}
	local, shared := a.local(), a.shared()
	all, err := local.Catalogue(t.Context(), find.RefreshOptions{})
	a.must(err)
	known := usage.Look(all)
	close := difftest.Roughly
	for _, step := range []int{3, 1, 1000}[:soaktest.Part(3, 1)] {
		for _, since := range []time.Time{{}, time.Date(2026, 2, 16, 9, 7, 0, 0, time.UTC), time.Date(2026, 3, 2, 8, 7, 0, 0, time.UTC)} {
			opt := usage.Options{Since: since, Zone: time.UTC, By: append(slices.Clone(usage.Keys), usage.AgentDay)}
			sum, calls := usage.New(opt), 0
			each := find.EachOptions{Kin: find.KinOptions{Repeats: true}, Since: usage.From(since), Step: step}
			a.must(shared.Each(t.Context(), each, func(rows, all []place.Row) error {
				sum.Add(usage.Look(all), rows)
				if calls++; len(rows) > step {
					t.Errorf("%d sessions at a time, not %d", len(rows), step)
				}
				return nil
			}))
			if diff := difftest.Diff(known.Sum(all, opt), sum.Report(), close); diff != "" || calls == 0 {
				t.Errorf("%d at a time, since %v (-all at once +so):\n%s", step, since, diff)
			}
		}
	}
	s := a.opened("/beds")
	for _, f := range []treeline.Filter{{}, {CWD: "/beds"}, {Source: "claude"}, {Model: "*o*"}, {Since: time.Date(2026, 2, 15, 0, 0, 0, 0, time.UTC)}} {
		opt := treeline.StatsOptions{Filter: f, Zone: time.UTC}
		want, err := s.whole.Stats(t.Context(), opt)
		a.must(err)
		for _, other := range []*treeline.Store{s.paged, s.client} {
			got, err := other.Stats(t.Context(), opt)
			a.must(err)
			if diff := difftest.Diff(want, got, close); diff != "" {
				t.Errorf("%+v (-all logs read +index):\n%s", f, diff)
			}
		}
	}
}

// Lists of runs are pages of the index, and other runs are not read.
func TestRuns(t *testing.T) {
	t.Parallel()
	a := newArchive(t, "runs")
	for i := range 12 {
		project := []string{"/garden", "/vault", "/garden/"}[i%3]
		text := fmt.Sprintf(`{"type":"header","schema_version":1,"run_id":"7f1d7b7a-0000-4000-8000-0000000000%02d","session_id":"s%d","started_at":"2026-02-03T12:34:%02d.000Z","runtime":{"cwd":"%s"}}`+"\n"+
			`{"type":"run.start","run_id":"x","ts":"2026-02-03T12:35:00.000Z","input":{"type":"text","text":"tomatoes"}}`+"\n", i, i%2, i, project)
		if i == 5 {
			text = "no run\n"
		}
		name := fmt.Sprintf("box-00000001/codelia/2026/02/03/7f1d7b7a-0000-4000-8000-0000000000%02d.jsonl", i)
		_, err := a.b.(backend.Mirror).Overwrite(t.Context(), backend.Log{Name: name}, "", strings.NewReader(text))
		a.must(err)
	}
	s := a.opened("/garden")
	for _, opt := range []treeline.RunListOptions{{}, {Session: "s1"}, {CWD: "/garden"}, {CWD: "/none"}, {Session: "none"}} {
		want, err := s.whole.Runs(t.Context(), opt)
		a.must(err)
		for _, other := range []*treeline.Store{s.paged, s.client} {
			got, err := other.Runs(t.Context(), opt)
			a.must(err)
			list := func(s *treeline.Store, rows []treeline.RunRow) (list []string) {
				for i := range rows {
					if rows[i].Err == nil {
						list = append(list, strings.Join([]string{name(s, rows[i].Path), rows[i].Header.RunID, rows[i].Short, rows[i].CWD(), rows[i].Prompt}, " "))
					}
				}
				return list
			}
			if diff := difftest.Diff(list(s.whole, want), list(other, got)); diff != "" {
				t.Errorf("%+v (-listed +index):\n%s", opt, diff)
			}
			if opt.CWD == "" && opt.Session == "" && len(got) != 12 {
				t.Errorf("%d runs, one of which cannot be read", len(got))
			}
		}
	}
	for _, ref := range []string{"@last", "@last~3", "@last~50", "7f1d7b7a-0000-4000-8000-000000000003", "7F1D7B7A-0000-4000-8000-000000000004", "7f1d", "none", "codelia:@last~1", "omp:@last"} {
		want, wantErr := s.whole.FindRun(t.Context(), ref)
		for _, other := range []*treeline.Store{s.paged, s.client} {
			if got, err := other.FindRun(t.Context(), ref); (err == nil) != (wantErr == nil) || got.Header.RunID != want.Header.RunID {
				t.Errorf("%s: %s, %v, want %s, %v", ref, got.Header.RunID, err, want.Header.RunID, wantErr)
			}
		}
	}
	for _, other := range []*treeline.Store{s.paged, s.client} {
		s.box.count("/logs/content")
		page, err := other.RunPage(t.Context(), treeline.RunPageOptions{Limit: 2, TotalMost: 20})
		a.must(err)
		if n := s.box.count("/logs/content"); len(page.Rows) != 2 || page.Next == "" || page.Total != 12 || n > 4 {
			t.Errorf("%d of %d runs, after %d reads", len(page.Rows), page.Total, n)
		}
		next, err := other.RunPage(t.Context(), treeline.RunPageOptions{Limit: 20, After: page.Next, TotalMost: 5})
		if a.must(err); len(next.Rows) != 10 || next.Next != "" || next.Total != -1 {
			t.Errorf("then %d of %d runs", len(next.Rows), next.Total)
		}
		if _, err := other.RunPage(t.Context(), treeline.RunPageOptions{After: "no"}); !errors.Is(err, find.ErrCursor) {
			t.Errorf("a wrong cursor: %v", err)
		}
	}
}

// The index counts the sessions in the sources of an archive, and no log is read.
func TestSources(t *testing.T) {
	t.Parallel()
	a := newArchive(t, "sources")
	a.everything(7)
	s := a.opened("/")
	want, err := s.whole.LookAtSources(t.Context())
	a.must(err)
	for _, other := range []*treeline.Store{s.paged, s.client} {
		s.box.count("/logs/content")
		got, err := other.LookAtSources(t.Context())
		a.must(err)
		list := func(s *treeline.Store, infos []place.SourceInfo) (list []string) {
			for _, i := range infos {
				line := fmt.Sprint(name(s, i.Root.Sessions), " ", i.Exists, i.Sessions, i.Bytes)
				for _, d := range i.Dialects {
					line += " " + d.Name()
				}
				list = append(list, line)
			}
			return list
		}
		if diff := difftest.Diff(list(s.whole, want), list(other, got)); diff != "" || len(got) < 4 {
			t.Errorf("sources (-all logs read +index):\n%s", diff)
		}
		if n := s.box.count("/logs/content"); n != 0 {
			t.Errorf("%d reads of logs", n)
		}
	}
}

// A watch of one directory asks the index for its sessions, and is told of those that are written.
func TestWatchHere(t *testing.T) {
	t.Parallel()
	a := newArchive(t, "watchhere")
	for i := range 30 {
		text := fmt.Sprintf(`{"type":"session","version":3,"id":"vault-%d","timestamp":"2026-02-16T10:00:00.000Z","cwd":"/vault"}`+"\n", i)
		_, err := a.b.(backend.Mirror).Overwrite(t.Context(), backend.Log{Name: fmt.Sprintf("two-00000002/omp/-v/%d.jsonl", i)}, "", strings.NewReader(text))
		a.must(err)
	}
	a.create("bedding", "tomato") // in /work/garden
	s := a.opened("/work/garden")
	for i, other := range []*treeline.Store{s.paged, s.client} {
		s.box.count("/logs/content")
		told := false
		for c, err := range other.Watch(t.Context(), treeline.WatchOptions{CWD: "/work/garden"}) {
			a.must(err)
			switch c.Kind {
			case treeline.ChangeStart:
				if n := s.box.count("/logs/content"); c.Sessions != 1+i || n > 10 {
					t.Errorf("%d sessions are watched, after %d reads", c.Sessions, n)
				}
				a.create(fmt.Sprint("later", i), "pond")
			case treeline.ChangeEntry:
				told = true
			}
			if told {
				break
			}
		}
	}
}
