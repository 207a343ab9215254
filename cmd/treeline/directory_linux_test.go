package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDirectoryNotUTF8: a session of a directory whose name is not UTF-8 is listed there, whichever agent it is written for. The name that
// it has in the session is the one that agents write.
func TestDirectoryNotUTF8(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a\xffb")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	a, stdout, stderr := testApp(t)
	a.WorkDir = dir
	agents := []string{"omp", "pi", "operator", "wave", "codelia", "claude", "codex", "gemini", "qwen", "copilot"}
	for _, agent := range agents {
		if code := run(t.Context(), a, []string{"new", "--dialect", agent}); code != exitFine {
			t.Fatalf("%s: exit code %d: %s; want 0", agent, code, stderr)
		}
	}
	stdout.Reset()
	if code := run(t.Context(), a, []string{"ls", "--json"}); code != exitFine || stderr.Len() > 0 {
		t.Fatalf("exit code %d: %s; want 0 and no problem", code, stderr)
	}
	if n := strings.Count(stdout.String(), `a�b"`); n != len(agents) {
		t.Errorf("%d sessions are of the directory, want %d:\n%s", n, len(agents), stdout)
	}
}
