package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestClients runs the tests of the clients in other languages against the program. A missing interpreter skips them, and is an
// error in CI.
func TestClients(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, -short: the clients in Python and Node are not tested")
	}
	program, err := exec.LookPath("treeline") // TestMain puts it there
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ interpreter, dir, script string }{
		{"python3", "python", "test_treeline.py"},
		{"node", "node", "test.js"},
	} {
		t.Run(tt.dir, func(t *testing.T) {
			t.Parallel()
			interpreter, err := exec.LookPath(tt.interpreter)
			if err != nil {
				if os.Getenv("TREELINE_CI") != "" {
					t.Fatalf("%s is not installed: its client was not tested", tt.interpreter)
				}
				t.Skipf("SKIPPED: %s is not installed: its client was not tested", tt.interpreter)
			}
			cmd := exec.Command(interpreter, tt.script)
			cmd.Dir = filepath.Join("..", "..", "clients", tt.dir)
			cmd.Env = append(os.Environ(), "TREELINE="+program, "PYTHONDONTWRITEBYTECODE=1")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
