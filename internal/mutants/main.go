// Command mutants changes the program in one place at a time and runs the tests of that place. A mutant that no test notices survives: the
// behaviour that it changes is not tested.
//
//	go run ./internal/mutants               all mutants
//	go run ./internal/mutants -run durable  those whose line in the output matches
//
// The working tree is not changed: each mutant is an overlay of the build. A test that always fails judges nothing: before a package kills
// its first mutant, its tests must pass without one. A mutant whose old text does not occur exactly once, or that does not compile, is a
// mistake in the table. The exit code is 1 if a mutant survives or there is a mistake.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"
)

// mutant is one change of a file.
type mutant struct {
	file     string
	old, new string
}

// judges are the packages whose tests judge the mutants of a folder. They run one after the other until one fails.
var judges = []struct{ folder, packages string }{
	{"session", "./session ./dialect ./dialect/pi ./dialect/codelia ./dialect/codex ./store"},
	{"internal/durable", "./internal/durable ./backend/file"},
	{"store", "./store"},
	{"convert/casting", "./convert/casting ./convert"},
	{"convert", "./convert"},
	{"logtree", "./logtree ./store ./watch"},
}

func main() {
	only := flag.String("run", ".", "the mutants whose line matches")
	workers := flag.Int("workers", runtime.NumCPU(), "how many at a time")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := check(ctx, *only, *workers); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// verdict is the result for a mutant.
type verdict struct {
	killed bool
	by     string // the test that failed
	err    error  // a mistake in the table, or a test that always fails
}

func check(ctx context.Context, only string, workers int) error {
	which, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "treeline-mutants-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }() // a temporary folder
	began := time.Now()
	passes := unchanged(ctx)
	var group sync.WaitGroup
	var mu sync.Mutex
	killed, survived, mistakes := 0, 0, 0
	next := make(chan int)
	for range workers {
		group.Go(func() {
			for i := range next {
				v := mutants[i].judge(ctx, filepath.Join(work, fmt.Sprint(i)), passes)
				mu.Lock()
				switch {
				case ctx.Err() != nil: // interrupted before it was judged
				case v.err != nil:
					mistakes++
					fmt.Printf("MISTAKE   %s: %v\n", mutants[i], v.err)
				case v.killed:
					killed++
					fmt.Printf("killed    %s by %s\n", mutants[i], v.by)
				default:
					survived++
					fmt.Printf("SURVIVED  %s\n", mutants[i])
				}
				mu.Unlock()
			}
		})
	}
	for i := range mutants {
		if which.MatchString(mutants[i].String()) && ctx.Err() == nil {
			next <- i
		}
	}
	close(next)
	group.Wait()
	all := killed + survived + mistakes
	fmt.Printf("%d mutants in %v: %d killed, %d survived, %d mistakes\n", all, time.Since(began).Round(time.Second), killed, survived, mistakes)
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted")
	case killed < all || all == 0:
		return errors.New("not every mutant was killed")
	}
	return nil
}

// unchanged returns for each package that judges a function that runs its tests, once, on the unchanged program.
func unchanged(ctx context.Context) map[string]func() error {
	all := map[string]func() error{}
	for _, j := range judges {
		for _, pkg := range strings.Fields(j.packages) {
			all[pkg] = sync.OnceValue(func() error {
				if out, err := test(ctx, pkg); err != nil {
					return fmt.Errorf("the tests of %s fail without a mutant: %w\n%s", pkg, err, out)
				}
				return nil
			})
		}
	}
	return all
}

// limited runs a test binary with 6 GB of address space: a mutant may loop and take memory without end.
const limited = `sh -c 'ulimit -v 6291456; exec "$0" "$@"'`

// test runs the tests of a package.
func test(ctx context.Context, pkg string, flags ...string) ([]byte, error) {
	args := append([]string{"test", "-vet=off", "-count=1", "-short", "-failfast", "-timeout", "5m", "-exec", limited}, flags...)
	return exec.CommandContext(ctx, "go", append(args, pkg)...).CombinedOutput()
}

// judges returns the packages whose tests judge the mutant.
func (m mutant) judges() []string {
	for _, j := range judges {
		if path.Dir(m.file) == j.folder {
			return strings.Fields(j.packages)
		}
	}
	return nil
}

// String shows the mutant on one line.
func (m mutant) String() string {
	short := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	return fmt.Sprintf("%s: %q → %q", m.file, short(m.old), short(m.new))
}

// judge writes the mutant into a folder and runs the tests. passes has for each package a function that checks that its tests pass without
// a mutant.
func (m mutant) judge(ctx context.Context, dir string, passes map[string]func() error) verdict {
	overlay, err := m.overlay(dir)
	if err != nil {
		return verdict{err: err}
	}
	packages := m.judges()
	if len(packages) == 0 {
		return verdict{err: errors.New("no tests judge this folder")}
	}
	for _, pkg := range packages {
		out, err := test(ctx, pkg, "-overlay", overlay)
		switch {
		case ctx.Err() != nil:
			return verdict{}
		case strings.Contains(string(out), "[build failed]") || strings.Contains(string(out), "[setup failed]"):
			return verdict{err: fmt.Errorf("it does not compile: %s", out)}
		case err != nil:
			return verdict{killed: true, by: pkg + " " + failed(out), err: passes[pkg]()}
		}
	}
	return verdict{}
}

var failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)|^((?:panic|fatal error): .{0,60})`)

// failed returns the first test that failed.
func failed(out []byte) string {
	m := failure.FindSubmatch(out)
	if m == nil {
		return "(an exit without a failed test)"
	}
	return string(m[1]) + string(m[2])
}

// changed returns the file with the change. root is the folder of the module.
func (m mutant) changed(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, m.file))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(text), m.old); n != 1 {
		return "", fmt.Errorf("the old text is there %d times, want once", n)
	}
	return strings.Replace(string(text), m.old, m.new, 1), nil
}

// overlay makes the file of go build -overlay.
func (m mutant) overlay(dir string) (string, error) {
	text, err := m.changed(".")
	if err != nil {
		return "", err
	}
	original, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	changed := filepath.Join(dir, filepath.Base(m.file))
	replace, err := json.Marshal(struct{ Replace map[string]string }{map[string]string{original: changed}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, errors.Join(os.MkdirAll(dir, 0o700),
		os.WriteFile(changed, []byte(text), 0o600), os.WriteFile(overlay, replace, 0o600))
}
