package treeline_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/rows/codelia"
	"github.com/treeline-dev/treeline/session"
)

// Without its driver an agent's database is a source that Needs the driver: shown, not read, and never written as a plain folder.
func TestBackends(t *testing.T) {
	home := t.TempDir()
	open := func(drivers ...backend.Driver) *treeline.Store {
		t.Helper()
		s, err := treeline.New(treeline.Options{Backends: drivers, Home: home, WorkDir: home, Getenv: func(string) string { return "" }})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	with, without := open(codelia.Driver()), open()
	create := func(s *treeline.Store) (string, error) {
		t.Helper()
		d, err := s.Dialect("codelia-state")
		if err != nil {
			t.Fatal(err)
		}
		sess, err := s.Create(t.Context(), treeline.CreateOptions{Dialect: d, CWD: home})
		if err != nil {
			return "", err
		}
		defer sess.Close()
		_, err = sess.AppendText(t.Context(), session.RoleUser, "hello")
		return sess.Path(), err
	}
	if _, err := create(without); !errors.Is(err, backend.ErrNoDriver) {
		t.Errorf("created without the driver: %v", err)
	}
	if _, err := os.Stat(filepath.Join(home, ".codelia")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was made: %v", err)
	}
	path, err := create(with)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		s        *treeline.Store
		needs    string
		sessions int
	}{{with, "", 1}, {without, "codelia", 0}} {
		list, err := tc.s.LookAtSources(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, src := range list {
			if src.Dialect.Name() != "codelia-state" {
				continue
			}
			found = true
			if src.Needs != tc.needs || src.Sessions != tc.sessions || src.Err != nil || !src.Exists {
				t.Errorf("needs %q: %+v", tc.needs, src)
			}
		}
		if !found {
			t.Errorf("needs %q: the source is not listed", tc.needs)
		}
		rows, err := tc.s.List(t.Context(), treeline.ListOptions{})
		if err != nil || len(rows) != tc.sessions {
			t.Errorf("needs %q: %d sessions, %v", tc.needs, len(rows), err)
		}
		rows, err = tc.s.Catalogue(t.Context(), treeline.RefreshOptions{})
		if err != nil || len(rows) != tc.sessions {
			t.Errorf("needs %q: %d sessions in the catalogue, %v", tc.needs, len(rows), err)
		}
	}
	if _, err := without.Open(t.Context(), path, treeline.OpenOptions{}); !errors.Is(err, backend.ErrNoDriver) {
		t.Errorf("opened without the driver: %v", err)
	}
}
