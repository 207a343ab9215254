package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRPCExamples runs the examples of docs/rpc.md as they are. A missing interpreter skips its example, and is an error in CI.
func TestRPCExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, -short: the examples in Python and Node are not run")
	}
	program, err := exec.LookPath("treeline") // TestMain puts it there
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ interpreter, script, yes string }{
		{"python3", "rpc.py", "True"},
		{"node", "rpc.mjs", "true"},
	} {
		t.Run(tt.script, func(t *testing.T) {
			t.Parallel()
			interpreter, err := exec.LookPath(tt.interpreter)
			if err != nil {
				if os.Getenv("TREELINE_CI") != "" {
					t.Fatalf("%s is not installed: the example %s was not run", tt.interpreter, tt.script)
				}
				t.Skipf("SKIPPED: %s is not installed: the example %s was not run", tt.interpreter, tt.script)
			}
			cmd := exec.Command(interpreter, filepath.Join("..", "..", "docs", "examples", tt.script), program, t.TempDir())
			home := t.TempDir()
			cmd.Env = append(os.Environ(), "HOME="+home, "USERPROFILE="+home)
			var problems strings.Builder
			cmd.Stderr = &problems
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, problems.String())
			}
			got, want := strings.ReplaceAll(string(out), "\r\n", "\n"), "on disk after the question: "+tt.yes+`
answers to the question: 2
user: Which tests fail?
assistant: Only the printer.
model: anthropic/claude
error -32000: Entry 00000000 not found
entries in the file: 3
exit code: 0
`
			if got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}
