package wire

import (
	"bufio"
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/runs"
	"github.com/treeline-dev/treeline/store"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares the output of write with a file.
func golden(t *testing.T, name string, write func(p *Page) error) {
	t.Helper()
	var b bytes.Buffer
	p := &Page{Writer: bufio.NewWriter(&b), Zone: time.UTC}
	if err := write(p); err != nil {
		t.Fatal(err)
	}
	if err := p.Flush(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", filepath.FromSlash(name))
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := difftest.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// fixture returns a store that finds only the files in testdata.
func fixture(t *testing.T) *treeline.Store {
	t.Helper()
	s, err := treeline.New(treeline.Options{
		Home: t.TempDir(), WorkDir: "/", Getenv: func(string) string { return "" }, ReadOnly: true, NoBreadcrumbs: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func openSession(t *testing.T, s *treeline.Store) *store.Session {
	t.Helper()
	sess, err := s.Open(t.Context(), filepath.Join("testdata", "session.jsonl"), store.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sess.Close() })
	return sess
}

func openRun(t *testing.T, s *treeline.Store, name string) *runs.Run {
	t.Helper()
	r, err := s.OpenRun(t.Context(), filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}
