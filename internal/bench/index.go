package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/internal/gen"
)

// build compiles the program once per run.
func (b *bench) build() (string, error) {
	program := filepath.Join(b.dir, "treeline")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	build := exec.Command("go", "build", "-o", program, "github.com/treeline-dev/treeline/cmd/treeline")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return program, nil
}

// apart makes data in another process: Linux counts the memory that a child shared with its parent before exec as the
// child's.
func apart(what, path string, sessions int, bytes int64) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "-make", what, path, fmt.Sprint(sessions), fmt.Sprint(bytes))
	cmd.Stderr = os.Stderr
	return cmd.Run()
}

// makeData makes a tree of sessions, one session, or a conversion of one. Its arguments are those of apart.
func makeData(args []string) error {
	if len(args) != 4 {
		return fmt.Errorf("%d words, not four", len(args))
	}
	path, sessions, bytes := args[1], 0, int64(0)
	if _, err := fmt.Sscan(args[2]+" "+args[3], &sessions, &bytes); err != nil {
		return err
	}
	if args[0] == "tree" {
		return gen.Tree(path, gen.TreeOptions{Seed: 1, Sessions: sessions, Bytes: bytes})
	}
	o := gen.Options{Seed: 1, Bytes: bytes, Branches: 20}
	if convert := conversions[args[0]]; convert != nil {
		return os.WriteFile(path, convert(gen.Session(o)), 0o600)
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	err = gen.Write(f, o)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// cost is the cost of one run of the program.
type cost struct {
	cpu    time.Duration
	memory int64
}

// costs runs the program several times on a home folder and returns the least cost; before runs before each. The environment
// has only the home, so that settings of the user have no effect.
func (b *bench) costs(program, home string, rounds int, before func() error, args ...string) (cost, error) {
	least := cost{1<<63 - 1, 1<<63 - 1}
	for range rounds {
		if before != nil {
			if err := before(); err != nil {
				return least, err
			}
		}
		cmd := exec.Command(program, args...)
		cmd.Env = []string{"HOME=" + home, "USERPROFILE=" + home}
		cmd.Dir = home
		var failed strings.Builder
		cmd.Stderr = &failed
		if err := cmd.Run(); err != nil {
			return least, fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, failed.String())
		}
		least.cpu = min(least.cpu, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
		least.memory = min(least.memory, maxMemory(cmd.ProcessState))
	}
	return least, nil
}

// statPass measures a walk over a folder that stats every file, in a process of its own, above the start of that process.
func (b *bench) statPass(home, root string, rounds int) (time.Duration, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	empty := filepath.Join(b.dir, "empty")
	if err := os.MkdirAll(empty, 0o700); err != nil {
		return 0, err
	}
	start, err := b.costs(self, home, rounds, nil, "-walk", empty)
	if err != nil {
		return 0, err
	}
	walk, err := b.costs(self, home, rounds, nil, "-walk", root)
	return walk.cpu - start.cpu, err
}

// walkAll is the walk of statPass.
func walkAll(root string) error {
	return filepath.WalkDir(root, func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			_, err = d.Info()
		}
		return err
	})
}

// sized returns the size of all files below a folder.
func sized(root string) (size int64, err error) {
	err = filepath.WalkDir(root, func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			info, err := d.Info()
			if err != nil {
				return err
			}
			size += info.Size()
		}
		return err
	})
	return size, err
}

// indexing makes the catalogue of many sessions from nothing, and updates it, with the program. The costs are above a start
// of the program.
func indexing(b *bench) error {
	program, err := b.build()
	if err != nil {
		return err
	}
	sessions := 1000
	if b.quick {
		sessions /= 10
	}
	home := filepath.Join(b.dir, "home")
	agent := filepath.Join(home, ".omp", "agent")
	// The size of gen.Tree's sessions by default.
	if err := apart("tree", agent, sessions, int64(sessions)*142_000); err != nil {
		return err
	}
	bytes, err := sized(agent)
	if err != nil {
		return err
	}
	start, err := b.costs(program, home, 3*b.rounds, nil, "version")
	if err != nil {
		return err
	}
	cache := filepath.Join(home, ".cache")
	// Each time from nothing.
	cold, err := b.costs(program, home, b.rounds, func() error { return os.RemoveAll(cache) }, "ls", "--all")
	if err != nil {
		return err
	}
	what := fmt.Sprintf("index of %d sessions, %s", sessions, mb(bytes))
	b.add(row{what: what + ", memory", figure: mb(cold.memory), ratio: float64(cold.memory) / 1e6, unit: "MB", target: 100, most: true})
	kept, err := sized(cache)
	if err != nil {
		return err
	}
	// Signatures may take 15 % of the logs on disk.
	b.add(row{what: what + ", on disk", figure: mb(kept), baseline: "of the sessions", ratio: float64(kept) / float64(bytes), target: 0.15, most: true})
	if err := b.upToDate(program, home, agent, start); err != nil {
		return err
	}
	if err := os.RemoveAll(home); err != nil {
		return err
	}
	if err := b.oneLarge(program, home); err != nil {
		return err
	}
	// Scaled to the machine of the limits by the speed of encoding/json. Last, since it takes memory, which would count as
	// that of a child.
	slow, err := b.encodingJSON()
	if err != nil {
		return err
	}
	scale := speed(len(b.log), slow) / slowJSON
	b.log = nil
	// Three seconds for a thousand sessions, on the slow machine.
	b.add(row{what: what + ", CPU", figure: ms(cold.cpu), baseline: fmt.Sprintf("scaled by encoding/json, %.0f MB/s", scale*slowJSON*1e3),
		ratio: (cold.cpu - start.cpu).Seconds() * scale, unit: "s", target: 3 * float64(sessions) / 1000, most: true})
	return nil
}

// upToDate measures an update when nothing changed, which every command pays, and when a session grew.
func (b *bench) upToDate(program, home, agent string, start cost) error {
	rounds := 5 * b.rounds
	same, err := b.costs(program, home, rounds, nil, "ls")
	if err != nil {
		return err
	}
	stat, err := b.statPass(home, agent, 5*b.rounds)
	if err != nil {
		return err
	}
	above := same.cpu - start.cpu
	// Twice a walk: only looking at every file shows that nothing changed.
	b.add(row{what: "nothing changed", figure: ms(above), baseline: "stat pass " + ms(stat), ratio: float64(above) / float64(stat), target: 2, most: true})
	files, err := filepath.Glob(filepath.Join(agent, "sessions", "*", "*.jsonl"))
	if err != nil {
		return err
	}
	n := 0
	// Another file each time.
	grown, err := b.costs(program, home, rounds, func() error { n++; return goOn(files[n%len(files)], writings[0].line, n) }, "ls")
	if err != nil {
		return err
	}
	b.add(row{what: "one line appended", figure: ms(grown.cpu - start.cpu), baseline: "beyond nothing changed",
		ratio: max(float64(grown.cpu-same.cpu)/1e6, 0.1), unit: "ms", target: 10, most: true})
	return nil
}

// oneLarge indexes one large session. The limit is that of many small ones: memory must not depend on the largest session.
func (b *bench) oneLarge(program, home string) error {
	size := int64(200_000_000)
	if b.quick {
		size /= 10
	}
	dir := filepath.Join(home, ".omp", "agent", "sessions", "-p")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := apart("session", filepath.Join(dir, "large.jsonl"), 1, size); err != nil {
		return err
	}
	large, err := b.costs(program, home, 3, func() error { return os.RemoveAll(filepath.Join(home, ".cache")) }, "ls", "--all")
	if err != nil {
		return err
	}
	b.add(row{what: "one session of " + mb(size) + ", memory", figure: mb(large.memory), baseline: ms(large.cpu),
		ratio: float64(large.memory) / 1e6, unit: "MB", target: 100, most: true})
	return os.RemoveAll(home)
}

// listed lists many sessions with a warm catalogue: it measures reading and printing it.
func listed(b *bench) error {
	program, err := b.build()
	if err != nil {
		return err
	}
	sessions := 10_000
	if b.quick {
		sessions /= 10
	}
	home := filepath.Join(b.dir, "home")
	agent := filepath.Join(home, ".omp", "agent")
	if err := apart("tree", agent, sessions, int64(sessions)*10_000); err != nil {
		return err
	}
	start, err := b.costs(program, home, 5*b.rounds, nil, "version")
	if err != nil {
		return err
	}
	if _, err := b.costs(program, home, 1, nil, "ls", "--all"); err != nil {
		return err
	}
	got, err := b.costs(program, home, 5*b.rounds, nil, "ls", "--all")
	if err != nil {
		return err
	}
	stat, err := b.statPass(home, agent, 5*b.rounds)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("ls of %d sessions that are known", sessions)
	above := got.cpu - start.cpu
	b.add(row{what: what, figure: ms(above), baseline: "stat pass " + ms(stat), ratio: float64(above) / float64(stat), target: 2, most: true})
	b.add(row{what: what + ", memory", figure: mb(got.memory), baseline: "above a start", ratio: float64(got.memory-start.memory) / 1e6,
		unit: "MB", target: 30, most: true})
	return os.RemoveAll(home)
}
