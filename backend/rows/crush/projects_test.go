package crush_test

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/rows/crush"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/started"
)

// twoProjects opens the sessions of two projects, which have none yet.
func twoProjects(t *testing.T) (b backend.Backend, garden, orchard string) {
	t.Helper()
	data, home := t.TempDir(), t.TempDir()
	garden, orchard = filepath.Join(home, "garden"), filepath.Join(home, "orchard")
	if err := started.Crush(data, started.Project{Dir: garden}, started.Project{Dir: orchard}); err != nil {
		t.Fatal(err)
	}
	b, err := crush.Driver().Open(filepath.Join(data, "crush"), backend.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b, garden, orchard
}

// A database that cannot be read hides the sessions of its own project only, and the list says which.
func TestDamagedProject(t *testing.T) {
	t.Parallel()
	b, garden, orchard := twoProjects(t)
	name := strings.NewReplacer("/", "%2F", `\`, "%5C", ":", "%3A").Replace(orchard) + "/s1.jsonl"
	header := `{"sessions":{"id":"s1","title":"Trees","created_at":1},"project":` + string(rawjson.Quote(orchard)) + `}`
	if _, err := b.Create(t.Context(), name, []byte(header)); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(garden, ".crush", "crush.db")
	if err := os.WriteFile(broken, []byte(strings.Repeat("not a database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, list := range map[string]func(context.Context, string) iter.Seq2[backend.Log, error]{
		"List": b.List, "Names": b.(backend.Glimpser).Names,
	} {
		var names, failed []string
		for l, err := range list(t.Context(), "") {
			if err != nil {
				failed = append(failed, l.Name+": "+err.Error())
				continue
			}
			names = append(names, l.Name)
		}
		if len(names) != 1 || names[0] != name || len(failed) != 1 || !strings.Contains(failed[0], broken) || !strings.Contains(failed[0], "garden: ") {
			t.Errorf("%s gives %q, failed %q", what, names, failed)
		}
	}
}

// A project whose database is not there has no sessions, which is no error; its logs may be back later.
func TestAbsentProject(t *testing.T) {
	t.Parallel()
	b, garden, _ := twoProjects(t)
	if absent, err := backend.Absent(t.Context(), b); err != nil || len(absent) > 0 {
		t.Errorf("%q, %v; want nothing that is absent", absent, err)
	}
	if err := os.Rename(garden, garden+" elsewhere"); err != nil {
		t.Fatal(err)
	}
	for l, err := range b.List(t.Context(), "") {
		t.Errorf("%s, %v; want an empty list", l.Name, err)
	}
	want := strings.NewReplacer("/", "%2F", `\`, "%5C", ":", "%3A").Replace(garden) + "/"
	if absent, err := backend.Absent(t.Context(), b); err != nil || len(absent) != 1 || absent[0] != want {
		t.Errorf("%q, %v; want %q", absent, err, want)
	}
}
