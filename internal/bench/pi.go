package main

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/internal/npm"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

//go:embed pi.mjs
var piScript []byte

// A peer is a program that performs operations on sessions: this one, or pi's own session manager. Each runs in a process of its own, which
// measures itself: its start, and the compilation of a script, do not count.
type peer struct {
	name    string
	command []string // the command line before the operation
	home    string
}

// done is the cost of one operation.
type done struct {
	cpu    time.Duration // the best of several rounds, in a process that has performed it before
	memory int64         // the peak of a process that performs it once
	count  int           // number of messages or sessions
}

// do performs an operation.
func (p peer) do(rounds int, operation, path string, times int) (d done) {
	once := func(rounds int) int64 {
		args := append(p.command[1:len(p.command):len(p.command)], operation, path, fmt.Sprint(rounds), fmt.Sprint(times))
		forgetPeak()
		cmd := exec.Command(p.command[0], args...)
		cmd.Env = []string{"HOME=" + p.home, "USERPROFILE=" + p.home, "PATH=" + os.Getenv("PATH")}
		var problem strings.Builder
		cmd.Stderr = &problem
		out, err := cmd.Output()
		if err != nil {
			check(fmt.Errorf("%s: %s: %w\n%s", p.name, operation, err, &problem))
		}
		must(fmt.Sscan(string(out), &d.cpu, &d.count))
		return maxMemory(cmd.ProcessState)
	}
	d.memory = once(1)
	if rounds > 1 {
		once(rounds)
	}
	return d
}

// besidePi compares the library with pi's own session manager in Node, on the same files: the cost for an agent that has one or the other
// built in. A ratio above 1 is in favour of this library.
func besidePi(b *bench) {
	dir, err := b.installPi()
	if err != nil {
		b.leaveOut("pi", err)
		return
	}
	home := filepath.Join(b.dir, "pi")
	script := filepath.Join(dir, "treeline-bench.mjs") // beside node_modules
	check(os.WriteFile(script, piScript, 0o600))
	ours := peer{"treeline", []string{must(os.Executable()), "-do"}, home}
	theirs := peer{"pi 1.5.0", []string{must(exec.LookPath("node")), script}, home}
	compare := func(what string, rounds int, operation, path string, times int) (x, y done) {
		x, y = ours.do(b.rounds, operation, path, times), theirs.do(rounds, operation, path, times)
		if x.count != y.count {
			check(fmt.Errorf("%s: %d here, %d in pi", what, x.count, y.count))
		}
		b.faster(what, x.cpu, "pi 1.5.0", y.cpu, 0)
		b.add(row{what: "  peak memory", figure: mb(x.memory), baseline: "pi 1.5.0 " + mb(y.memory), ratio: float64(y.memory) / float64(x.memory)})
		return x, y
	}
	path := filepath.Join(home, "session.jsonl")
	for _, size := range []int{10_000_000, 100_000_000} {
		apart("pi", path, 1, int64(b.size(size)))
		compare("open + context with all messages, "+mb(int64(b.size(size))), 3, "open", path, 1)
	}
	for _, n := range []int{1000, 10_000, 100_000} {
		apart("chain", path, b.size(n), 0)
		_, theirs := compare(fmt.Sprintf("context with all messages of %d open entries", b.size(n)), 3, "context", path, max(1, 20_000/n))
		// pi has decoded all messages in memory. Here they are read from the file when they are used.
		unread := ours.do(b.rounds, "unread", path, max(1, 20_000/n))
		b.faster("  messages not read", unread.cpu, "pi 1.5.0", theirs.cpu, 0)
	}
	compare(fmt.Sprintf("append %d messages", b.size(10_000)), 1, "append", home, b.size(10_000))
	for _, n := range []int{1000, 10_000} {
		agent := filepath.Join(home, ".pi", "agent")
		check(os.RemoveAll(agent))
		apart("pi tree", agent, b.size(n), int64(b.size(n))*20_000)
		compare(fmt.Sprintf("list of %d sessions without an index", b.size(n)), 1, "list", agent, 1)
	}
	check(os.RemoveAll(home))
}

// installPi returns a folder with pi's packages: the one that -pi names, or one for this run.
func (b *bench) installPi() (string, error) {
	dir, err := filepath.Abs(cmp.Or(b.pi, filepath.Join(b.dir, "npm")))
	if err != nil {
		return "", err
	}
	return dir, npm.Install(dir, npm.PiUnused(), npm.Pi)
}

// do is the child process of peer.do for this library.
func do(args []string) {
	if len(args) != 4 {
		check(fmt.Errorf("%d arguments, not four", len(args)))
	}
	operation, path, rounds, times := args[0], args[1], 0, 0
	must(fmt.Sscan(args[2]+" "+args[3], &rounds, &times))
	ctx, b := context.Background(), &bench{dir: filepath.Dir(path)}
	build := func(s *treeline.Session) *session.Context {
		return must(s.Context(ctx, s.Tree().LeafID(), treeline.ContextOptions{}))
	}
	messages := func(s *treeline.Session) (n int) {
		for _, err := range build(s).Messages() {
			check(err)
			n++
		}
		return n
	}
	var opened *treeline.Session
	operations := map[string]func() int{
		"open": func() int {
			s := must(b.newStore().Open(ctx, path, treeline.OpenOptions{}))
			n := messages(s)
			check(s.Close())
			return n
		},
		"context": func() (n int) {
			for range times {
				n = messages(opened)
			}
			return n
		},
		"unread": func() int {
			for range times {
				build(opened)
			}
			return 0
		},
		"append": func() int {
			s := b.fresh(treeline.DurabilityFlush)
			check(say(s, times))
			check(s.Close())
			return times
		},
		"list": func() int { return len(must(b.newStore(path).List(ctx, place.ListOptions{}))) },
	}
	inRow := operation == "context" || operation == "unread"
	if inRow {
		opened = must(b.newStore().Open(ctx, path, treeline.OpenOptions{}))
	}
	least, count := time.Duration(1<<63-1), 0
	for range rounds {
		if rounds > 1 {
			runtime.GC() // a round does not pay for the garbage of the one before
		}
		start := clock()
		count = operations[operation]()
		least = min(least, clock()-start)
	}
	if inRow {
		least /= time.Duration(times)
	}
	fmt.Println(int64(least), count)
}
