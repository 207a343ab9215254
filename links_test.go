package treeline_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/history"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

func TestMain(m *testing.M) { os.Exit(soaktest.Main(m)) }

// Treeline never writes through a link that another program planted. The paths are those of all files that writeEverything leaves,
// and of temporary files.
func TestPlantedLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // there, making a link needs a privilege
	}
	t.Parallel()
	home := t.TempDir()
	writeEverything(t, home, func(step string, err error) {
		if err != nil {
			t.Errorf("%s: %v", step, err)
		}
	})
	paths := files(t, home)
	for _, name := range []string{
		".omp/agent/sessions/-work/.treeline-tmp-0", ".omp/agent/blobs/.treeline-tmp-0", ".omp/agent/terminal-sessions/.treeline-tmp-0",
		"state/.treeline-tmp-0", "state/trash/.treeline-tmp-0", "cache/.treeline-tmp-0", "cache/signatures-1",
		"state/history.lock", "state/history.db-wal", "state/history.db-journal", "state/history.db-shm",
		".omp/agent/sessions/-work/.treeline-old.jsonl.writers",
	} {
		if !slices.Contains(paths, name) {
			paths = append(paths, name)
		}
	}
	every := soaktest.Every()
	for i, name := range paths {
		for kind, plant := range map[string]func(victim, path string) error{"symbolic": os.Symlink, "hard": os.Link} {
			if kind == "hard" && !strings.HasPrefix(name, "state/") && !strings.HasPrefix(name, "cache/") {
				continue // logs and blobs are compared, or written under another name and renamed
			}
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				for k, victim := range []string{"precious", "missing"} {
					if victim == "missing" && kind == "hard" {
						continue
					}
					if kind == "symbolic" && !every && i%2 != k {
						continue // the next path gets the other victim
					}
					dir := t.TempDir()
					home, victim := filepath.Join(dir, "home"), filepath.Join(dir, victim)
					if filepath.Base(victim) == "precious" {
						ok(t, os.WriteFile(victim, []byte("precious\n"), 0o600))
					}
					path := filepath.Join(home, filepath.FromSlash(name))
					ok(t, os.MkdirAll(filepath.Dir(path), 0o700))
					ok(t, plant(victim, path))
					writeEverything(t, home, func(string, error) {}) // writing may be refused
					text, err := os.ReadFile(victim)
					if filepath.Base(victim) == "precious" && string(text) != "precious\n" {
						t.Errorf("written through the link: %.60q, %v", text, err)
					}
					if filepath.Base(victim) == "missing" && !errors.Is(err, fs.ErrNotExist) {
						t.Errorf("a file was made where the link leads: %.60q, %v", text, err)
					}
				}
			})
		}
	}
	t.Logf("%d paths: %v", len(paths), paths)
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// files lists the files below a folder.
func files(t *testing.T, root string) (list []string) {
	t.Helper()
	ok(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, relErr := filepath.Rel(root, path)
			list, err = append(list, filepath.ToSlash(name)), relErr
		}
		return err
	}))
	return list
}

// writeEverything writes every kind of file that treeline writes, under the same names each time.
func writeEverything(t *testing.T, home string, step func(name string, err error)) {
	ctx := t.Context()
	now := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	clock := func() time.Time { return now }
	s, err := treeline.New(treeline.Options{
		Home: home, WorkDir: home, State: filepath.Join(home, "state"), Cache: filepath.Join(home, "cache"), NoConfig: true,
		Getenv: func(name string) string { return map[string]string{"TMUX_PANE": "%1"}[name] },
	})
	ok(t, err)
	defer s.Close()
	sessions := filepath.Join(home, ".omp", "agent", "sessions", "-work")
	// These two logs exist before: one is of an old version, one is damaged.
	for name, text := range map[string]string{
		"old.jsonl":     `{"type":"session","id":"old","timestamp":"2026-02-03T04:05:06.000Z","cwd":"/work"}` + "\n",
		"damaged.jsonl": `{"type":"session","version":3,"id":"damaged","timestamp":"2026-02-03T04:05:06.000Z","cwd":"/work"}` + "\nnonsense\n",
	} {
		ok(t, os.MkdirAll(sessions, 0o700))
		f, err := os.OpenFile(filepath.Join(sessions, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			continue // the tested link is there
		}
		_, err = f.WriteString(text)
		ok(t, errors.Join(err, f.Close(), os.Chtimes(f.Name(), now.Add(-time.Hour), now.Add(-time.Hour))))
	}
	create := func(dir string, id string) (path string, err error) {
		write := treeline.WriteOptions{Clock: clock, Random: bytes.NewReader(bytes.Repeat([]byte(id), 1000)), Defer: "never", Force: true} // there is no /work
		sess, err := s.Create(ctx, treeline.CreateOptions{CWD: "/work", Dir: dir, ID: session.ID(id), Write: write})
		if err != nil {
			return "", err
		}
		image := fmt.Appendf(nil, `{"role":"user","content":[{"type":"image","mimeType":"image/png","data":"%s"}]}`, strings.Repeat("AAAA", 400))
		_, err = sess.AppendMessage(ctx, image)
		return sess.Path(), errors.Join(err, sess.Close())
	}
	path, err := create("", "first")
	step("create", err)
	_, err = create(filepath.Join(home, "elsewhere"), "second")
	step("create elsewhere", err)
	old, err := s.OpenWrite(ctx, filepath.Join(sessions, "old.jsonl"), store.CreateOptions{Write: treeline.WriteOptions{Clock: clock}})
	if err == nil {
		err = errors.Join(old.Rename(ctx, "migrated"), old.Close())
	}
	step("migrate", err)
	_, err = s.Repair(ctx, filepath.Join(sessions, "damaged.jsonl"), treeline.RepairOptions{Clock: clock})
	step("repair", err)
	_, err = s.Search(ctx, "nonsense", treeline.SearchOptions{})
	step("search", err)
	run, err := s.StartRun(ctx, treeline.RunOptions{Header: []byte(`{"type":"header","run_id":"7b0c2f8e-6c1d-4a4e-9d63-5f1f2a3b4c5d","started_at":"2026-02-03T04:05:06.000Z"}`)})
	if err == nil {
		err = run.Close()
	}
	step("run", err)
	if path != "" {
		_, err = s.Trash(ctx, path)
		step("trash", err)
	}
	_, err = s.GC(ctx, treeline.GCOptions{Apply: true})
	step("gc", err)
	h, err := history.Open(ctx, history.Options{State: filepath.Join(home, "state"), Cache: filepath.Join(home, "cache"), Sessions: s})
	if err == nil {
		err = errors.Join(h.Add("prompt", "/work"), h.Flush(ctx), h.Close())
	}
	step("history", err)
	_, err = history.Rebuild(ctx, history.Options{State: filepath.Join(home, "state"), Cache: filepath.Join(home, "cache"), Sessions: s})
	step("rebuild", err)
}
