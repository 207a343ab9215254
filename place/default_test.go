package place_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/store"
)

// A session without a named dialect goes to omp if omp is there, else to the agent with the newest session of the directory, else to
// treeline's own folder, which is then a source.
func TestDefault(t *testing.T) {
	home := t.TempDir()
	opt := world.Options(home, durable.OS{})
	opt.Env.Access = file.Access
	opt.Own = filepath.Join(home, "data")
	work, other := filepath.Join(home, "work"), filepath.Join(home, "other")
	for _, dir := range []string{work, other} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	st := store.New(store.Options{Machine: place.New(opt)})
	defer st.Close()
	// begin creates a session by default, or of a dialect, and returns its dialect and folder.
	begin := func(cwd, dialect string) (string, string) {
		t.Helper()
		chosen, err := st.Default(t.Context(), cwd)
		if dialect != "" {
			chosen = place.Default{}
			chosen.Dialect, err = st.Dialect(dialect)
		}
		if err != nil {
			t.Fatal(err)
		}
		s, err := st.Create(t.Context(), store.CreateOptions{CWD: cwd, Dialect: chosen.Dialect, Dir: chosen.Dir})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if _, err := s.AppendUser(t.Context(), "hello"); err != nil {
			t.Fatal(err)
		}
		dir, err := filepath.Rel(home, filepath.Dir(s.Path()))
		if err != nil {
			t.Fatal(err)
		}
		return chosen.Dialect.Name(), filepath.ToSlash(dir)
	}
	check := func(cwd, wantDialect, wantDir string) {
		t.Helper()
		if dialect, dir := begin(cwd, ""); dialect != wantDialect || wantDir != "" && dir != wantDir {
			t.Errorf("a session of %s in %s, want %s in %s", dialect, dir, wantDialect, wantDir)
		}
	}
	check(work, "omp", "data/sessions/-work")
	check(work, "omp", "data/sessions/-work") // its own session here does not create omp's folder
	rows, err := st.List(t.Context(), place.ListOptions{CWD: work})
	if err != nil || len(rows) != 2 || rows[0].Dialect.Name() != "omp" {
		t.Errorf("listed: %v, %v", rows, err)
	}
	row, ok, err := st.Newest(t.Context(), rows[0].Dialect, "", work)
	if err != nil || !ok || !place.Within(opt.Own, row.Path) {
		t.Errorf("the newest: %v, %v, %v", row.Path, ok, err)
	}
	begin(other, "wave")
	check(other, "wave", "")
	check(work, "omp", "data/sessions/-work")
	if err := os.MkdirAll(filepath.Join(home, ".omp", "agent"), 0o700); err != nil {
		t.Fatal(err)
	}
	check(other, "omp", ".omp/agent/sessions/-other")
}
