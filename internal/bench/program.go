package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/internal/gen"
)

// program is an executable with a home folder of its own. The environment has only the home, so that settings of the user have
// no effect.
type program struct{ path, home string }

// program returns treeline, built once per run.
func (b *bench) program(home string) program {
	path := filepath.Join(b.dir, "treeline")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	if _, err := os.Stat(path); err != nil {
		build(path)
	}
	return program{path, home}
}

// build builds treeline as it is released: without cgo, whose libraries cost a quarter of the start.
func build(path string, flags ...string) {
	args := append(append([]string{"build"}, flags...), "-o", path, "github.com/treeline-dev/treeline/cmd/treeline")
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		check(fmt.Errorf("go build: %w\n%s", err, out))
	}
}

// cache returns the folder of the index.
func (p program) cache() string { return filepath.Join(p.home, ".cache") }

// forget removes the index.
func (p program) forget() { check(os.RemoveAll(p.cache())) }

// cost is the cost of one run of a program.
type cost struct {
	cpu    time.Duration
	memory int64
}

// costs runs the program several times and returns the least cost; before runs before each. A search that finds nothing is not
// an error: some questions have no answer.
func (p program) costs(rounds int, before func(), args ...string) cost {
	least := cost{1<<63 - 1, 1<<63 - 1}
	for range rounds {
		if before != nil {
			before()
		}
		forgetPeak()
		cmd := exec.Command(p.path, args...)
		cmd.Env = []string{"HOME=" + p.home, "USERPROFILE=" + p.home}
		cmd.Dir = p.home
		var problem bytes.Buffer
		cmd.Stderr = &problem
		err := cmd.Run()
		var exit *exec.ExitError
		nothing := errors.As(err, &exit) && exit.ExitCode() == 1 && (problem.Len() == 0 || bytes.Contains(problem.Bytes(), []byte("nothing found")))
		if err != nil && !nothing {
			check(fmt.Errorf("%s %s: %w\n%s", p.path, strings.Join(args, " "), err, &problem))
		}
		least.cpu = min(least.cpu, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
		least.memory = min(least.memory, maxMemory(cmd.ProcessState))
	}
	return least
}

// apart makes data in another process: Linux counts the memory that a child shared with its parent before exec as the child's.
func apart(what, path string, sessions int, bytes int64) {
	check(os.MkdirAll(filepath.Dir(path), 0o700))
	cmd := exec.Command(must(os.Executable()), "-make", what, path, fmt.Sprint(sessions), fmt.Sprint(bytes))
	cmd.Stderr = os.Stderr
	check(cmd.Run())
}

// makeData makes a tree of sessions, a chain of messages, one session, or conversions of several. Its arguments are those of apart. The
// path of several conversions has a verb for their numbers.
func makeData(args []string) {
	if len(args) != 4 {
		check(fmt.Errorf("%d arguments, not four", len(args)))
	}
	path, sessions, bytes := args[1], 0, int64(0)
	must(fmt.Sscan(args[2]+" "+args[3], &sessions, &bytes))
	o := gen.Options{Seed: 1, Bytes: bytes, Branches: 20}
	if args[0] == "tree" || args[0] == "pi tree" {
		check(gen.Tree(path, gen.TreeOptions{Seed: 1, Sessions: sessions, Bytes: bytes, Pi: args[0] == "pi tree"}))
	} else if args[0] == "chain" {
		b := &bench{dir: filepath.Dir(path)}
		check(os.Rename(b.chain(sessions), path))
	} else if convert := conversions[args[0]]; convert != nil {
		o.Bytes /= int64(sessions)
		for k := range sessions {
			name := path
			if o.Seed = uint64(k + 1); sessions > 1 {
				name = fmt.Sprintf(path, k)
			}
			check(os.WriteFile(name, convert(gen.Session(o)), 0o600))
		}
	} else {
		o.Pi = args[0] == "pi"
		write(path, o)
	}
}

// statPass measures a walk over a folder that stats every file, in a process of its own, above the start of that process.
func (b *bench) statPass(root string) time.Duration {
	empty := filepath.Join(b.dir, "empty")
	check(os.MkdirAll(empty, 0o700))
	self := program{must(os.Executable()), b.dir}
	start := self.costs(5*b.rounds, nil, "-walk", empty)
	return self.costs(5*b.rounds, nil, "-walk", root).cpu - start.cpu
}

// diskSize returns the size of all files below a folder.
func diskSize(root string) (size int64, err error) {
	err = filepath.WalkDir(root, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}

// command measures the start of the program, since shells and editors start it often.
func command(b *bench) {
	start := b.program(b.dir).costs(5*b.rounds, nil, "version")
	// 6 ms and 25 MB go unnoticed in a prompt or an editor.
	b.add(row{what: "treeline version, CPU", figure: ms(start.cpu), ratio: start.cpu.Seconds() * 1e3, unit: "ms", target: 6, most: true})
	b.memory("treeline version, memory", start.memory, "", 25)
	small := filepath.Join(b.dir, "stripped")
	build(small, "-trimpath", "-ldflags", "-s -w")
	b.memory("the program without symbols", must(os.Stat(small)).Size(), "", 25)
	check(os.Remove(small))
}
