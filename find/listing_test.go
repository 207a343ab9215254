package find

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/dialect/pi"
	"github.com/treeline-dev/treeline/find/listing"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

// spell returns rows as lines.
func spell(rows []place.Row) (lines []string) {
	for i := range rows {
		r := &rows[i]
		log := r.Log
		log.Generation = ""
		lines = append(lines, fmt.Sprint(r.Path, log, r.Summary, *r.Known, r.Dialect.Name(), r.Err))
	}
	return lines
}

// listed returns a machine with sessions of two agents whose rows are made in different ways: those of a Placer are made at once. Some name no
// directory, some are sub-agents, some are not sessions, one is empty, and many were written at the same time.
func listed(t *testing.T) (m *desk, f *Finder, all []place.Row) {
	m = newDesk(t)
	for i := range 40 {
		parent, cwd := "", []string{"/p", "/q", "", "/r"}[i%4]
		if i%5 == 1 {
			parent = fmt.Sprintf(`,"parentSession":"s%d"`, i-1)
		}
		head := strings.Replace(fmt.Sprintf(header, fmt.Sprint("s", i), parent), `"cwd":"/p"`, fmt.Sprintf(`"cwd":%q`, cwd), 1)
		m.write(fmt.Sprintf("a/%d.jsonl", i), head+strings.Repeat(needle, i%7))
	}
	m.write("a/other.jsonl", "not a session\n")
	m.write("a/empty.jsonl", "")
	for i := range 6 {
		id := fmt.Sprintf("c1a0de00-0000-4000-8000-00000000000%d", i)
		line := fmt.Sprintf(`{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"asked %d"},"uuid":"u%d",`+
			`"timestamp":"2026-05-01T10:00:00.000Z","cwd":"/p","sessionId":%q}`+"\n", i, i, id)
		m.Put(".claude/projects/-p/"+id+".jsonl", line)
		if i%2 == 0 {
			m.Put(".claude/projects/-p/"+id+"/subagents/agent-a"+fmt.Sprint(i)+".jsonl",
				strings.Replace(line, `"isSidechain":false`, fmt.Sprintf(`"isSidechain":true,"agentId":"a%d"`, i), 1))
		}
	}
	for k, path := range slices.Concat(m.glob(".omp/agent/sessions/*/*"), m.glob(".claude/projects/*/*.jsonl"), m.glob(".claude/projects/*/*/*/*")) {
		at := m.now.Add(-time.Duration(k%3) * time.Hour)
		m.Must(os.Chtimes(path, at, at))
	}
	f = m.kept(t.TempDir())
	all, err := f.Catalogue(t.Context(), RefreshOptions{})
	m.Must(err)
	return m, f, all
}

// TestLastIsFirst: the nth session before @last is the nth row of the project's list, however many were written in one moment. Of these,
// those with later messages come first, and of those with the same messages, such as forks, the ones that were created later.
func TestLastIsFirst(t *testing.T) {
	t.Parallel()
	m := newDesk(t)
	message := `{"type":"message","id":"m1","parentId":null,"timestamp":"2026-02-16T12:%02d:00.000Z","message":{"role":"user","content":"x"}}` + "\n"
	for i := range 24 {
		head := strings.Replace(fmt.Sprintf(header, fmt.Sprint("s", i), ""), "10:00:00", fmt.Sprintf("10:%02d:00", 7*i%24), 1)
		said := ""
		if i%6 > 0 {
			said = fmt.Sprintf(message, i%6)
		}
		m.write(fmt.Sprintf("a/%d.jsonl", i), head+said)
	}
	for i, path := range m.glob(".omp/agent/sessions/*/*") {
		at := m.now.Add(-time.Duration(i%2) * time.Hour)
		m.Must(os.Chtimes(path, at, at))
	}
	f := m.kept(t.TempDir())
	list, err := f.Listing(t.Context(), RefreshOptions{})
	m.Must(err)
	list.Sort(place.OrderWhen)
	rows := m.InDir("/p", list.Rows())
	for i := range rows {
		row, err := m.FindAmong(slices.Clone(rows), "", fmt.Sprint("@last~", i), func() (string, error) { return "/p", nil })
		if err != nil || row.Path != rows[i].Path {
			t.Errorf("@last~%d of the list is %s, %v, want %s", i, row.Path, err, rows[i].Path)
		}
	}
	read, err := m.List(t.Context(), place.ListOptions{CWD: "/p"})
	m.Must(err)
	if len(rows) != 24 || len(read) != 24 {
		t.Fatalf("%d and %d rows, want 24", len(rows), len(read))
	}
	for i := range rows {
		if read[i].Path != rows[i].Path {
			t.Errorf("@last~%d is %s, want %s", i, read[i].Path, rows[i].Path)
		}
	}
}

// glob returns the files that match a pattern below the home folder.
func (d *desk) glob(pattern string) []string {
	d.Helper()
	list, err := filepath.Glob(d.At(pattern))
	d.Must(err)
	if len(list) == 0 {
		d.Fatalf("no file is %s", pattern)
	}
	return list
}

// TestListing: a list without rows yields the same as the rows of the catalogue, for every order and filter, both one row at a time and all
// at once.
func TestListing(t *testing.T) {
	t.Parallel()
	m, f, all := listed(t)
	list, err := f.Listing(t.Context(), RefreshOptions{})
	m.Must(err)
	for _, by := range place.Orders {
		list.Sort(by)
		want := spell(place.Sort(slices.Clone(all), by))
		if diff := difftest.Diff(want, spell(list.Rows())); diff != "" {
			t.Errorf("by %s, all rows (-want +got):\n%s", by, diff)
		}
		var single []string
		for i := range list.Len() {
			single = append(single, spell([]place.Row{*list.Row(i)})...)
		}
		if diff := difftest.Diff(want, single); diff != "" {
			t.Errorf("by %s, one after the other (-want +got):\n%s", by, diff)
		}
	}
	list.Sort(place.OrderWhen)
	for _, filter := range []place.Filter{
		{}, {CWD: "/p"}, {CWD: "/nowhere"}, {Title: "*"}, {Title: "nothing"}, {Source: "omp"}, {Source: "pi"},
		{Since: time.Now().Add(-time.Hour)}, {Until: time.Now().Add(-time.Hour)}, {CWD: "/q", Model: "x"},
	} {
		want, err := f.m.Filter(slices.Clone(all), filter)
		m.Must(err)
		passes, err := f.m.Condition(filter)
		m.Must(err)
		if diff := difftest.Diff(spell(want), spell(list.Keep(passes).Rows())); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", filter, diff)
		}
	}
}

// TestListingParts: what a list reports of its entries without their rows agrees with the rows.
func TestListingParts(t *testing.T) {
	t.Parallel()
	m, f, all := listed(t)
	list, err := f.Listing(t.Context(), RefreshOptions{})
	m.Must(err)
	list.Sort(place.OrderWhen)
	var dirs, bad []string
	loose, sessions, near := []place.Row{}, []place.Row{}, []place.Row{}
	for i := range all {
		r := all[i]
		switch {
		case r.Err != nil:
			bad = append(bad, r.Path)
			near = append(near, r)
			continue
		case r.CWD == "":
			loose, near = append(loose, r), append(near, r)
		default:
			dirs = append(dirs, r.CWD)
			if r.CWD == "/q" {
				near = append(near, r)
			}
		}
		sessions = append(sessions, r)
	}
	if len(bad) == 0 || len(loose) == 0 {
		t.Fatalf("there are %d files that are no sessions and %d sessions without a directory, want some", len(bad), len(loose))
	}
	kept, others := list.Sessions()
	for what, diff := range map[string]string{
		"directories":                  difftest.Diff(dirs, slices.Collect(list.Dirs())),
		"sessions without a directory": difftest.Diff(spell(loose), spell(list.Undirected())),
		"files that are not sessions":  difftest.Diff(bad, others),
		"sessions":                     difftest.Diff(spell(sessions), spell(kept.Rows())),
		"sessions of a directory":      difftest.Diff(spell(near), spell(list.InDirs(func(cwd string) bool { return cwd == "/q" }).Rows())),
		"the first":                    difftest.Diff(spell(all[:3]), spell(list.First(3).Rows())),
		"sessions as a list of rows":   difftest.Diff(spell(sessions), spell(listing.Of(sessions).Rows())),
	} {
		if diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	var begun []place.Row
	var agents []string
	for i := range sessions {
		if r := sessions[i]; r.ID != "" || r.Log.Size > 0 {
			begun, agents = append(begun, r), append(agents, r.Dialect.Name())
		}
	}
	slices.Sort(agents)
	if agents = slices.Compact(agents); len(begun) == len(sessions) || len(agents) < 2 {
		t.Fatalf("%d of %d sessions have content, of %q; want fewer, of several agents", len(begun), len(sessions), agents)
	}
	if diff := difftest.Diff(spell(begun), spell(list.Begun().Rows())); diff != "" {
		t.Errorf("sessions with content (-want +got):\n%s", diff)
	}
	if got := list.Formats(); !slices.Equal(got, agents) {
		t.Errorf("the agents are %q, want %q", got, agents)
	}
	if want, got := place.Parents(sessions), kept.Parents(); !slices.Equal(got, want) {
		t.Errorf("the parents are %d, want %d", got, want)
	}
	for i := range sessions {
		if want, got := sessions[i].IsTask(), kept.IsTask(i); got != want {
			t.Errorf("that %s is of a sub-agent: %v, want %v", sessions[i].Path, got, want)
		}
	}
	forked, depth := place.Forks(slices.Clone(sessions))
	if got := kept.Forks(); !slices.Equal(got, depth) || slices.Max(depth) == 0 {
		t.Errorf("the depths of forks are %d, want %d", got, depth)
	}
	if diff := difftest.Diff(spell(forked), spell(kept.Rows())); diff != "" {
		t.Errorf("forks (-want +got):\n%s", diff)
	}
	kept.Sort(place.OrderWhen)
	tasks := map[string]bool{}
	for i, parent := range place.Parents(sessions) {
		tasks[sessions[i].Path] = parent >= 0 && sessions[i].IsTask()
	}
	before := len(sessions)
	main := place.Drop(slices.Clone(sessions), func(r *place.Row) bool { return tasks[r.Path] })
	rest, left := kept.WithoutTasks()
	if diff := difftest.Diff(spell(main), spell(rest.Rows())); diff != "" || left != before-len(main) || left == 0 {
		t.Errorf("%d sub-agents are left out, want %d and some (-want +got):\n%s", left, before-len(main), diff)
	}
	place.Shorten(all)
	list.Shorten(list.First(5))
	for i := range all {
		if got := list.Row(i).Short; got != all[i].Short {
			t.Errorf("the short id of %s is %q, want %q", all[i].ID, got, all[i].Short)
		}
	}
}

// TestListingParents: the parents of a list are those of its rows, also with equal ids and names, cycles, and missing parents.
func TestListingParents(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		rows := make([]place.Row, rng.IntN(12))
		for i := range rows {
			id, folder := rng.IntN(6), rng.IntN(3)
			rows[i].Dialect, rows[i].ID, rows[i].Path = pi.Omp, session.ID(fmt.Sprint("s", id)), fmt.Sprintf("/%d/s%d.jsonl", folder, id)
			switch parent := rng.IntN(8); rng.IntN(4) {
			case 0:
				rows[i].Parent = fmt.Sprint("s", parent)
			case 1:
				rows[i].Parent = fmt.Sprintf("/%d/s%d.jsonl", rng.IntN(4), parent)
			}
		}
		if want, got := place.Parents(rows), listing.Of(rows).Parents(); !slices.Equal(got, want) {
			t.Fatalf("the parents of %+v are %d, want %d", rows, got, want)
		}
	}
}

// TestPagesStay: the pages of a list have each row once, even if the last session of a page is written or removed before the next page is
// requested.
func TestPagesStay(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(m *desk, path string){
		"nothing": func(*desk, string) {},
		"written": func(m *desk, path string) {
			old, err := os.ReadFile(path)
			m.Must(err)
			m.Must(os.WriteFile(path, append(old, needle...), 0o600))
			m.touch(path)
		},
		"removed": func(m *desk, path string) { m.Must(os.Remove(path)) },
	} {
		for k, order := range slices.Repeat(place.Orders, 2) {
			m := newDesk(t)
			for i := range 30 {
				name := fmt.Sprintf("a/%d.jsonl", i)
				m.write(name, fmt.Sprintf(header, fmt.Sprint("s", i), fmt.Sprintf(`,"title":"%c"`, 'a'+i%5))+strings.Repeat(needle, i%7))
				if k >= len(place.Orders) { // all at the same time
					m.Must(os.Chtimes(m.path(name), time.Unix(1e9, 0), time.Unix(1e9, 0)))
				}
			}
			f := m.finder(nil)
			page := func(opt ListOptions) Page {
				opt.Order = order
				p, err := f.List(t.Context(), opt)
				m.Must(err)
				return p
			}
			paths := func(rows []place.Row) (list []string) {
				for i := range rows {
					list = append(list, rows[i].Path)
				}
				return list
			}
			want := paths(page(ListOptions{}).Rows)
			first := page(ListOptions{Limit: 9})
			got := paths(first.Rows)
			change(m, got[len(got)-1])
			for next := first.Next; next != "" && len(got) <= len(want); {
				p := page(ListOptions{Limit: 9, After: next})
				got, next = append(got, paths(p.Rows)...), p.Next
			}
			if diff := difftest.Diff(want, got); diff != "" {
				t.Errorf("%s, by %s:\n%s", name, order, diff)
			}
		}
	}
}
