// Package killtest runs a test binary as a child process that writes until it is killed. The child prints a line for each
// write that was acknowledged, so that a test can check that none is lost.
package killtest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

// env is the variable with the arguments of a child.
const env = "TREELINE_TEST_CHILD"

// Main is for TestMain. It runs the tests, or child in a process that Command made.
func Main(m interface{ Run() int }, child func(args string) error) {
	args, isChild := os.LookupEnv(env)
	if !isChild {
		os.Exit(soaktest.Main(m))
	}
	if err := child(args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Command returns the command that runs child in a process of its own. The arguments are joined as by fmt.Sprintln, so that
// child can split them with fmt.Sscan. None may contain a space.
func Command(args ...any) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	// The race detector would sleep a second at the end of each child.
	cmd.Env = append(os.Environ(), env+"="+strings.TrimSpace(fmt.Sprintln(args...)), "GORACE=atexit_sleep_ms=0")
	return cmd
}

// Run runs a command and kills it some time after it has printed a number of lines. It returns all lines. It is an error if the command
// cannot be started or writes to its standard error.
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
		if err != nil { // half a line does not count
			break
		}
		acknowledged = append(acknowledged, strings.TrimSpace(line))
		if len(acknowledged) == after {
			time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }) // it may have ended already
		}
	}
	_ = cmd.Wait() // it was killed
	if complaints.Len() > 0 {
		return acknowledged, fmt.Errorf("the child said: %s", complaints.String())
	}
	return acknowledged, nil
}

// Round runs a number of writers at once, each with a seed of its own, and kills each at a random moment. It returns the
// lines of each writer by its seed.
func Round(rnd *rand.Rand, writers int, command func(seed uint64) *exec.Cmd) (map[uint64][]string, error) {
	var group sync.WaitGroup
	var mu sync.Mutex
	var failed error
	all := map[uint64][]string{}
	for range writers {
		seed := rnd.Uint64() >> 1
		after, patience := rnd.IntN(15), time.Duration(rnd.IntN(8_000))*time.Microsecond
		group.Go(func() {
			lines, err := Run(command(seed), after+1, patience)
			mu.Lock()
			defer mu.Unlock()
			all[seed], failed = lines, errors.Join(failed, err)
		})
	}
	group.Wait()
	return all, failed
}
