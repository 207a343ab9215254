// Package killtest runs a test binary as another process, one that writes until it is killed: what a process acknowledged
// must be there after any end that it may have. Such a child prints a line for each thing that is acknowledged to it.
package killtest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// env has the arguments of a child.
const env = "TREELINE_TEST_CHILD"

// Main is for TestMain. It runs the tests; in a process that Command made it runs child instead, with its arguments.
// A test binary is both: so the child has the very code that is tested, and nothing must be built.
func Main(m *testing.M, child func(args string) error) {
	args, isChild := os.LookupEnv(env)
	if !isChild {
		os.Exit(m.Run())
	}
	if err := child(args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Command gives the command that runs child in a process of its own. The arguments are put together as fmt.Sprintln does,
// so that child can take them apart with fmt.Sscan; no one of them may have a space in it.
func Command(args ...any) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	// The race detector would sleep a second at the end of each child.
	cmd.Env = append(os.Environ(), env+"="+strings.TrimSpace(fmt.Sprintln(args...)), "GORACE=atexit_sleep_ms=0")
	return cmd
}

// Run runs a command, and kills it that long after it has acknowledged so many things. It gives all that was acknowledged.
// The error is that the command said something on its standard error, or could not be started.
// Every line counts, also those that came between the decision to kill and the end.
func Run(cmd *exec.Cmd, after int, patience time.Duration) (acknowledged []string, err error) {
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil { // half a line is no acknowledgement
			break
		}
		acknowledged = append(acknowledged, strings.TrimSpace(line))
		if len(acknowledged) == after {
			time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }) // it may have ended by itself
		}
	}
	_, _ = io.Copy(io.Discard, lines)
	_ = cmd.Wait() // it was killed
	if complaints.Len() > 0 {
		return acknowledged, fmt.Errorf("the child said: %s", complaints.String())
	}
	return acknowledged, nil
}
