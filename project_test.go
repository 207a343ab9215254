package treeline_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/memory"
)

// The project of a log in an archive is what its content says, even for content that is not yet written. A file of a session
// belongs to that session.
func TestProjectOf(t *testing.T) {
	t.Parallel()
	const root, id = "team://archive", "0198a1b2-0000-4000-8000-000000000001"
	s, err := treeline.New(treeline.Options{
		Backends: []backend.Driver{memory.ArchiveDriver("team")}, Roots: []string{root}, Home: t.TempDir(), Getenv: func(string) string { return "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b, err := s.OpenWriting(root, "")
	if err != nil {
		t.Fatal(err)
	}
	line := `{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"` + id + `","cwd":"/vault","timestamp":"2026-02-16T10:00:00.000Z","message":{"role":"user","content":"x"}}`
	for name, record := range map[string]string{
		"a-00000001/claude/-vault/" + id + ".jsonl":              line,
		"a-00000001/claude/-vault/" + id + "/tool-results/x.txt": "long output",
		"a-00000001/claude/-vault/loose.txt":                     "of no session",
		"a-00000001/omp/--x--/broken.jsonl":                      "no session",
	} {
		if _, err := b.Create(t.Context(), name, []byte(record)); err != nil {
			t.Fatal(err)
		}
	}
	for name, one := range map[string]struct {
		content []byte
		want    string
	}{
		"a-00000001/claude/-vault/" + id + ".jsonl":              {nil, "/vault"},
		"a-00000001/claude/-vault/" + id + "/tool-results/x.txt": {nil, "/vault"},
		"a-00000001/claude/-vault/" + id + "/tool-results/y.txt": {[]byte("new"), "/vault"},
		"a-00000001/claude/-vault/loose.txt":                     {nil, ""},
		"a-00000001/omp/--x--/broken.jsonl":                      {nil, ""},
		"a-00000001/claude/-vault/new.jsonl":                     {[]byte(strings.ReplaceAll(line, "/vault", "/garden") + "\n"), "/garden"},
	} {
		if got, err := s.ProjectOf(t.Context(), s.ArchivedPath(name), one.content); err != nil || got != one.want {
			t.Errorf("%s: %q, want %q (%v)", name, got, one.want, err)
		}
	}
	if _, err := s.ProjectOf(t.Context(), s.ArchivedPath("a-00000001/claude/-vault/none.jsonl"), nil); !errors.Is(err, backend.ErrNotExist) {
		t.Errorf("a log that is not there: %v", err)
	}
}

// The project of the working directory is the nearest directory upwards that has sessions; without sessions there is none.
func TestHere(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	folder := filepath.Join(home, ".pi", "agent", "sessions", "--shop--")
	log := `{"type":"session","version":3,"id":"a1","timestamp":"2026-02-16T10:20:00.000Z","cwd":"/shop"}` + "\n" +
		`{"type":"message","id":"00000001","parentId":null,"timestamp":"2026-02-16T10:21:00.000Z","message":{"role":"user","content":"x"}}` + "\n"
	if err := errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, "a.jsonl"), []byte(log), 0o600)); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{"/shop": "/shop", "/shop/cart": "/shop", "/garden": ""} {
		s, err := treeline.New(treeline.Options{Home: home, WorkDir: dir, ReadOnly: true, NoConfig: true, Getenv: func(string) string { return "" }})
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Here(t.Context(), treeline.RefreshOptions{})
		if err = errors.Join(err, s.Close()); err != nil || got != want {
			t.Errorf("in %s: %q, %v", dir, got, err)
		}
	}
}

// A file of settings that cannot be read is named once.
func TestConfigFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := treeline.ReadConfig(dir, dir); err == nil || strings.Count(err.Error(), dir) != 1 {
		t.Errorf("%v; want an error that names %s once", err, dir)
	}
}
