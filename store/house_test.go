package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/all"
	"github.com/treeline-dev/treeline/store"
)

// house is a home directory with agents' folders in it, and a store that reads them.
type house struct {
	*testing.T
	home string
	*store.Store
	clock time.Time // of the next file
}

func newHouse(t *testing.T, roots ...string) *house {
	t.Helper()
	home := t.TempDir()
	h := &house{T: t, home: home, clock: time.Date(2026, 2, 16, 10, 0, 0, 0, time.UTC)}
	for i, r := range roots {
		roots[i] = filepath.Join(home, r)
	}
	h.Store = store.New(store.Options{
		Dialects: all.Dialects(),
		Env: dialect.Env{
			Home: home, TempDir: filepath.Join(home, "tmp"), WorkDir: filepath.Join(home, "garden"), Zone: time.UTC,
			Getenv: func(string) string { return "" }, Realpath: filepath.EvalSymlinks,
		},
		OpenDir:   func(dir string) (backend.Backend, error) { return file.New(dir, file.Options{ReadOnly: true}) },
		OpenBlobs: func(dir string) blob.Reader { return blob.NewDir(dir) },
		Roots:     roots,
	})
	return h
}

// put writes a file, each a minute newer than the one before, and gives its path.
func (h *house) put(name, content string) string {
	h.Helper()
	path := filepath.Join(h.home, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		h.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		h.Fatal(err)
	}
	h.clock = h.clock.Add(time.Minute)
	if err := os.Chtimes(path, h.clock, h.clock); err != nil {
		h.Fatal(err)
	}
	return path
}

func (h *house) open(path string, opt store.OpenOptions) *store.Session {
	h.Helper()
	s, err := h.Open(h.Context(), path, opt)
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { s.Close() })
	return s
}

func (h *house) messages(s *store.Session, opt store.ContextOptions) []string {
	h.Helper()
	c, err := s.Context(h.Context(), s.Tree().LeafID(), opt)
	if err != nil {
		h.Fatal(err)
	}
	var list []string
	for m, err := range c.Messages() {
		if err != nil {
			h.Fatal(err)
		}
		list = append(list, string(m.JSON))
	}
	return list
}

func log(id, cwd string, lines ...string) string {
	return fmt.Sprintf(`{"type":"session","version":3,"id":%q,"timestamp":"2026-02-16T10:20:00.000Z","cwd":%q}`+"\n", id, cwd) +
		strings.Join(lines, "\n") + "\n"
}

func said(id, parent, text string) string {
	return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%q,"timestamp":"2026-02-16T10:21:00.000Z","message":{"role":"user","content":%q}}`, id, parent, text)
}
