package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/internal/gen"
)

// doubled are the commands whose time is compared. SESSION is the log, OUT a folder that does not exist.
var doubled = []struct {
	command string
	records int // before doubling: about a tenth of a second for most logs
}{
	{"ls --all --json", 20_000},
	{"search word", 20_000},
	{"tree SESSION --json", 20_000},
	{"show SESSION --json", 20_000},
	{"context SESSION --json", 20_000},
	{"check SESSION --json", 20_000},
	{"repair SESSION --json", 20_000},
	{"repair SESSION --apply --json", 20_000},
	{"convert SESSION --to operator -o OUT", 4_000},
	{"convert SESSION --to wave -o OUT", 4_000},
	{"fork SESSION", 20_000},
	{"rename SESSION name", 20_000},
	{"history import", 20_000},
	{"check SESSION --secrets --json", 20_000},
	{"export SESSION --format html", 4_000},
	{"export SESSION --format md --all-branches", 4_000},
}

const (
	// doublingBound ends a run. It is elapsed time, since no portable limit of CPU time exists, and far above the second that
	// the slowest run takes.
	doublingBound = 30 * time.Second
	// doublingFloor is the shortest time that is compared: below it the ratio is noise.
	doublingFloor = 10 * time.Millisecond
	// doublingTries is how often a ratio that is too large is measured: single runs of 40 ms vary too much on a busy machine.
	doublingTries = 10
)

var errBound = errors.New("it exceeds the bound")

// doubling doubles each dimension in which a log can be hostile. A command in O(n log n) takes about twice the time, a quadratic one four
// times. The figure of a row is the time of the command on all doubled logs; the ratio is that of the dimension in which the time grows
// most. A command that exceeds the bound in one dimension is not run in the others.
func doubling(b *bench) {
	p := b.program(filepath.Join(b.dir, "doubling"))
	start := b.program(b.dir).costs(b.rounds, nil, "version").cpu
	for _, c := range doubled {
		n := c.records
		if b.quick {
			n /= 4 // with a tenth, most times are below the floor
		}
		total, worst := time.Duration(0), row{what: "doubled: " + c.command, target: 3, most: true}
		for _, h := range gen.HostileLogs {
			one, two, err := p.doubled(h, n, c.command, start)
			if errors.Is(err, errBound) {
				total, worst.ratio = total+doublingBound, math.Inf(1)
				worst.baseline = fmt.Sprintf("%d or %d %s: more than %s", n, 2*n, h.Name, doublingBound)
				break
			}
			check(err)
			total += two
			if ratio := times(two, max(one, doublingFloor)); ratio > worst.ratio {
				worst.ratio = ratio
				worst.baseline = fmt.Sprintf("%d %s %s, twice as many %s", n, h.Name, ms(one), ms(two))
			}
		}
		worst.figure = ms(total)
		b.add(worst)
	}
}

// doubled returns the CPU times of a command on a log and on one of twice the size, above a start of the program. A ratio that
// is too large is measured again, and the best time of each log counts: other work on the machine makes a run slower and never faster.
func (p program) doubled(h gen.Hostile, n int, command string, start time.Duration) (one, two time.Duration, err error) {
	one, two = math.MaxInt64, math.MaxInt64
	small, large := h.Log(n), h.Log(2*n)
	for try := 0; try < doublingTries && (try == 0 || times(two, max(one, doublingFloor)) > 2.5); try++ {
		first, err := p.hostile(h, small, command)
		if err != nil {
			return 0, 0, err
		}
		second, err := p.hostile(h, large, command)
		if err != nil {
			return 0, 0, err
		}
		one, two = min(one, max(first-start, 0)), min(two, max(second-start, 0))
	}
	return one, two, nil
}

// hostile runs a command on a hostile log, in a home of its own, and returns its CPU time. The command may fail because of the log's
// problems.
func (p program) hostile(h gen.Hostile, log []byte, command string) (time.Duration, error) {
	check(os.RemoveAll(p.home))
	path := filepath.Join(p.home, filepath.FromSlash(h.Path()))
	check(os.MkdirAll(filepath.Dir(path), 0o700))
	check(os.WriteFile(path, log, 0o600))
	// A repair waits until a log has been left alone for a while.
	old := time.Now().Add(-time.Hour)
	check(os.Chtimes(path, old, old))
	args := strings.Fields(strings.NewReplacer("SESSION", path, "OUT", filepath.Join(p.home, "out")).Replace(command))
	ctx, stop := context.WithTimeout(context.Background(), doublingBound)
	defer stop()
	cmd := exec.CommandContext(ctx, p.path, args...)
	cmd.Env = []string{"HOME=" + p.home, "USERPROFILE=" + p.home}
	cmd.Dir = p.home
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return 0, fmt.Errorf("%s of %s: %w", command, h.Name, errBound)
	case cmd.ProcessState == nil || cmd.ProcessState.ExitCode() < 0 || cmd.ProcessState.ExitCode() > 1:
		return 0, fmt.Errorf("%s of %s: %w", command, h.Name, err)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}
