package npm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A folder is installed again when it holds other packages, and after an installation that was interrupted.
func TestInstallOnce(t *testing.T) {
	bin, dir, log := t.TempDir(), filepath.Join(t.TempDir(), "agent"), filepath.Join(t.TempDir(), "log")
	t.Setenv("PATH", bin)
	for name, script := range map[string]string{"node": "", "npm": "echo \"$@\" >>" + log + "\ncase \"$*\" in *broken*) exit 1;; esac\n"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range []struct {
		packages  []string
		installed int // how often npm was called so far
		fails     bool
	}{
		{[]string{"agent@1"}, 1, false},
		{[]string{"agent@1"}, 1, false},
		{[]string{"agent@1", "node@24"}, 2, false},
		{[]string{"agent@1", "node@24"}, 2, false},
		{[]string{"agent@1", "broken@1"}, 3, true},
		{[]string{"agent@1", "broken@1"}, 4, true},
	} {
		err := Install(dir, nil, c.packages...)
		calls, _ := os.ReadFile(log)
		if n := strings.Count(string(calls), "\n"); (err != nil) != c.fails || n != c.installed {
			t.Errorf("step %d, %v: npm was called %d times, want %d; error %v", i, c.packages, n, c.installed, err)
		}
	}
}
