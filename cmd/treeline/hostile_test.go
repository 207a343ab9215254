package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

// TestHostile: no command is quadratic in labels, repeated ids, branches and the like. Each of these takes a fraction of a
// second; in quadratic time it does not end within a minute. go run ./internal/bench -run doubling measures all of them.
func TestHostile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dimension string
		n         int
		command   string
	}{
		{"labels", 40_000, "ls --all --json"},
		{"unlabels", 80_000, "ls --all --json"},
		{"wave repeats", 40_000, "ls --all --json"},
		{"wave repeats", 40_000, "repair SESSION --json"},
		{"compactions", 2_000, "convert SESSION --to wave -o out"},
		{"results backwards", 80_000, "convert SESSION --to wave -o out"},
		{"claude gaps", 12_000, "export SESSION --format html -o x.html"},
		{"gemini rewinds", 60_000, "export SESSION --format html -o x.html"},
		{"qwen repeats", 12_000, "export SESSION --format html -o x.html"},
	} {
		t.Run(c.dimension+" "+strings.Fields(c.command)[0], func(t *testing.T) {
			t.Parallel()
			var log gen.Hostile
			for _, h := range gen.HostileLogs {
				if h.Name == c.dimension {
					log = h
				}
			}
			home := t.TempDir()
			path := filepath.Join(home, filepath.FromSlash(log.Path()))
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, log.Log(soaktest.Part(c.n, c.n/4)), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("treeline", strings.Fields(strings.ReplaceAll(c.command, "SESSION", path))...)
			cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME=", "XDG_CACHE_HOME=", "XDG_CONFIG_HOME=")
			cmd.Dir = home
			kill := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
			defer kill.Stop()
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v: %.300s", err, out)
			}
		})
	}
}
