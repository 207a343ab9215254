package rpc_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// The examples of the documentation run as they are. Where an interpreter is missing that is said; in CI it is an error.
func TestExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, -short: the examples in Python and Node are not run")
	}
	program := filepath.Join(t.TempDir(), "treeline")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", program, "../cmd/treeline").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, tt := range []struct{ interpreter, script, yes, no string }{
		{"python3", "rpc.py", "True", "False"},
		{"node", "rpc.mjs", "true", "false"},
	} {
		t.Run(tt.script, func(t *testing.T) {
			interpreter, err := exec.LookPath(tt.interpreter)
			if err != nil {
				if os.Getenv("TREELINE_CI") != "" {
					t.Fatalf("%s is not installed: the example %s was not run", tt.interpreter, tt.script)
				}
				t.Skipf("SKIPPED: %s is not installed: the example %s was not run", tt.interpreter, tt.script)
			}
			cmd := exec.Command(interpreter, filepath.Join("..", "docs", "examples", tt.script), program, t.TempDir())
			home := t.TempDir()
			cmd.Env = append(os.Environ(), "HOME="+home, "USERPROFILE="+home)
			var problems strings.Builder
			cmd.Stderr = &problems
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, problems.String())
			}
			equal(t, "output", strings.ReplaceAll(string(out), "\r\n", "\n"), "on disk after the question: "+tt.no+"\n"+
				"on disk after the answer: "+tt.yes+`
answers to the question: 2
user: Which tests fail?
assistant: Only the printer.
model: anthropic/claude
error -32000: Entry 00000000 not found
entries in the file: 3
exit code: 0
`)
		})
	}
}
