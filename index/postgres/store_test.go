package postgres_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend"
	store "github.com/treeline-dev/treeline/backend/postgres"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/remote"
	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/place"
)

// stores are three views of one archive: that of a program which reads all logs, that of one with the index beside them, and that of a
// client of a server.
type stores struct {
	whole, paged, client *treeline.Store
	box                  *box
}

// opened gives the stores of an archive, as seen in a working directory.
func (a *archive) opened(cwd string) stores {
	open := func(root string, drivers []backend.Driver, indexes []index.Driver) *treeline.Store {
		s, err := treeline.New(treeline.Options{Home: a.TempDir(), WorkDir: cwd, Getenv: func(string) string { return "" }, NoBreadcrumbs: true,
			Backends: drivers, Indexes: indexes, Roots: []string{root}, ReadOnly: true, Clock: a.clock})
		a.must(err)
		a.Cleanup(func() { s.Close() })
		return s
	}
	b := newBox(a.T, a.url, indexes())
	direct := []backend.Driver{store.Driver(store.Options{})}
	return stores{open(a.url, direct, nil), open(a.url, direct, indexes()), open(b.URL, b.drivers, remote.Drivers(b.drivers)), b}
}

// name is the name of a log in the archive.
func name(s *treeline.Store, path string) string {
	folder, _ := s.ArchivedFolder(path)
	return folder
}

// everything pushes a machine of all agents.
func (a *archive) everything(seed uint64) {
	home := a.TempDir()
	_, err := gen.Machine(home, seed)
	a.must(err)
	a.must(gen.Tree(filepath.Join(home, ".omp/agent"), gen.TreeOptions{Seed: seed, Sessions: 4}))
	a.push("one-00000001", home)
}

// A session is found by what people call it, and no log is listed for it.
func TestNamed(t *testing.T) {
	t.Parallel()
	a := newArchive(t, "named")
	a.everything(5)
	s := a.opened(gen.MachineCWD)
	rows, err := s.whole.Catalogue(t.Context(), treeline.RefreshOptions{})
	a.must(err)
	refs := []string{"@last", "@last~1", "@last~3", "@last~5000", "claude:@last", "omp:@last~1", "nosuchsession", "0", "a"}
	for i := range rows {
		if id := string(rows[i].ID); i%2 == 0 && id != "" {
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
	if _, err := s.paged.Find(t.Context(), "@last~1"); err != nil || found < 50 {
		t.Errorf("only %d names were found, %v", found, err)
	}
}
