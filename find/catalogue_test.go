package find

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/store"
)

// fixtures puts the dialects' fixtures where their agents would keep them.
func (m *desk) fixtures() {
	m.Helper()
	places := map[string]string{
		"pi/testdata/omp": ".omp/agent/sessions/-p", "pi/testdata/pi": ".pi/agent/sessions/--p--", "pi/testdata/refused": ".pi/agent/sessions/--r--",
		"operator/testdata/operator": ".operator/sessions", "operator/testdata/operator-doc": ".operator/profiles/default/sessions",
		"wave/testdata/wave": ".wave/projects/p", "wave/testdata/wave-doc": ".wave/projects/-q", "wave/testdata/wave-legacy": ".wave/sessions",
	}
	for from, to := range places {
		files, err := filepath.Glob(filepath.Join("../dialect", from, "*"))
		if err != nil || len(files) == 0 {
			m.Fatalf("no fixtures in %s: %v", from, err)
		}
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				continue // a folder
			}
			path := filepath.Join(m.Home, to, filepath.Base(f))
			if strings.HasSuffix(to, ".wave/sessions") { // documents, whatever the fixture is called
				path = strings.TrimSuffix(path, "l")
			}
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				m.Fatal(err)
			}
			if err := os.WriteFile(path, data, 0o600); err != nil {
				m.Fatal(err)
			}
			m.touch(path)
		}
	}
}

// TestCatalogueAndList: for every session of every family, the catalogue agrees with a list made from the ends of the logs, and has the
// counts that such a list lacks.
func TestCatalogueAndList(t *testing.T) {
	t.Parallel()
	m := newDesk(t)
	m.fixtures()
	s := m.finder(nil)
	want, err := s.m.List(t.Context(), place.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Catalogue(t.Context(), RefreshOptions{Problem: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	if len(want) < 100 || len(want) != len(got) {
		t.Fatalf("%d rows, and %d in the catalogue", len(want), len(got))
	}
	rows := map[string]*place.Row{}
	for i := range got {
		rows[got[i].Path] = &got[i]
	}
	families := map[string]int{}
	for i := range want {
		w, g := &want[i], rows[want[i].Path]
		if g == nil {
			t.Errorf("%s is not in the catalogue", w.Path)
			continue
		}
		if (w.Err == nil) != (g.Err == nil) {
			t.Errorf("%s: %v, in the catalogue %v", w.Path, w.Err, g.Err)
		}
		if w.Err != nil || g.Err != nil {
			continue
		}
		families[w.Dialect.Name()]++
		say := func(r *place.Row) string {
			return fmt.Sprintf("%s id %q short %q cwd %q created %s active %s parent %q version %d when %s",
				r.Dialect.Name(), r.ID, r.Short, r.CWD, r.Created.Text, r.Active.Text, r.Parent, r.Version, r.When())
		}
		w.Active = g.Active // a list by names does not have it
		if _, byName := listedByName(w.Source.Dialect); byName {
			w.CWD, w.Parent, w.Version = g.CWD, g.Parent, g.Version
		}
		if say(w) != say(g) {
			t.Errorf("%s:\n  %s\n  %s; want say(w) == say(g)", w.Path, say(w), say(g))
		}
		if w.Messages >= 0 && w.Messages != g.Messages {
			t.Errorf("%s: %d messages, in the catalogue %d", w.Path, w.Messages, g.Messages)
		}
		if w.Title != "" && w.Title != g.Title {
			t.Errorf("%s: title %q, in the catalogue %q", w.Path, w.Title, g.Title)
		}
		sess, err := m.Open(t.Context(), w.Path, store.OpenOptions{})
		if err != nil {
			t.Errorf("%s: %v", w.Path, err)
			continue
		}
		if tree := sess.Tree(); tree.Len() != g.Known.Entries || len(tree.Problems()) != g.Known.Problems || tree.Tips() != g.Known.Branches {
			t.Errorf("%s: %d entries, %d problems, %d branches; in the catalogue %d, %d, %d", w.Path, tree.Len(), len(tree.Problems()), tree.Tips(),
				g.Known.Entries, g.Known.Problems, g.Known.Branches)
		}
		sess.Close()
	}
	for _, name := range []string{"omp", "pi", "operator", "operator-doc", "wave", "wave-doc", "wave-legacy"} {
		if families[name] == 0 {
			t.Errorf("no session of %s", name)
		}
	}
}

// TestActiveOfLongEntries: the time of last use is known even if the last entry is longer than the end of the log that lists read. So a
// search that ends early returns the newest hit.
func TestActiveOfLongEntries(t *testing.T) {
	t.Parallel()
	m := newDesk(t)
	message := func(id, clock string, words int) string {
		return fmt.Sprintf(`{"type":"message","id":"%s","parentId":null,"timestamp":"2026-05-01T%s.000Z","message":{"role":"user","content":"needle %s"}}`+"\n",
			id, clock, strings.Repeat("word ", words))
	}
	long := fmt.Sprintf(header, "long", "") + message("00000001", "10:00:01", 3000)
	m.write("a/long.jsonl", long+message("00000002", "19:00:00", 3000))
	m.write("a/short.jsonl", fmt.Sprintf(header, "short", "")+message("00000001", "12:00:00", 1)+message("00000002", "12:00:01", 1))
	s := m.finder(nil)
	rows, err := s.Catalogue(t.Context(), RefreshOptions{})
	if err != nil || len(rows) != 2 {
		t.Fatalf("%d rows: %v", len(rows), err)
	}
	for i := range rows {
		want := map[string]string{"long": `"2026-05-01T19:00:00.000Z"`, "short": `"2026-05-01T12:00:01.000Z"`}[string(rows[i].ID)]
		if got := rows[i].Active.Text; got != want {
			t.Errorf("%s: last used at %s, not %s", rows[i].ID, got, want)
		}
	}
	res, err := s.Search(t.Context(), "needle", Options{Limit: 1})
	if err != nil || len(res.Hits) != 1 || res.Hits[0].Session.ID != "long" {
		t.Errorf("the newest is not found: %+v, %v", res, err)
	}
}
