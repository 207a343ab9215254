package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/internal/gen"
)

// doubled are the commands whose time is compared. SESSION is the log, OUT a folder that does not exist.
var doubled = []string{
	"ls --all --json", "search word", "tree SESSION --json", "show SESSION --json", "context SESSION --json", "check SESSION --json",
	"repair SESSION --json", "repair SESSION --apply --json", "convert SESSION --to operator --out OUT", "convert SESSION --to wave --out OUT",
	"fork SESSION", "rename SESSION name", "history import",
}

// doubling doubles each dimension in which a log can be hostile. A command in O(n log n) takes about twice the time, a
// quadratic one four times. Each row shows a command with the dimension in which its time grows most.
func doubling(b *bench) {
	p := b.program(filepath.Join(b.dir, "doubling"))
	for _, command := range doubled {
		worst := row{ratio: -1}
		for _, h := range gen.HostileLogs {
			n := b.size(20_000)
			one, two := p.hostile(h, n, command), p.hostile(h, 2*n, command)
			for range 2 { // other work on the machine makes a run slower, and never faster
				if times(two, one) > 2.5 {
					one, two = min(one, p.hostile(h, n, command)), min(two, p.hostile(h, 2*n, command))
				}
			}
			if ratio := times(two, one); ratio > worst.ratio {
				worst = row{
					what: "doubled: " + command, figure: ms(two), baseline: fmt.Sprintf("%d %s %s", n, h.Name, ms(one)),
					ratio: ratio, target: 3, most: true,
				}
			}
		}
		b.add(worst)
	}
}

// hostile runs a command on a hostile log, in a home of its own, and returns its CPU time. What is wrong with the log may fail
// the command.
func (p program) hostile(h gen.Hostile, n int, command string) time.Duration {
	check(os.RemoveAll(p.home))
	path := filepath.Join(p.home, filepath.FromSlash(h.Path()))
	check(os.MkdirAll(filepath.Dir(path), 0o700))
	check(os.WriteFile(path, h.Log(n), 0o600))
	// A repair waits until a log has been left alone for a while.
	old := time.Now().Add(-time.Hour)
	check(os.Chtimes(path, old, old))
	args := strings.Fields(strings.NewReplacer("SESSION", path, "OUT", filepath.Join(p.home, "out")).Replace(command))
	cmd := exec.Command(p.path, args...)
	cmd.Env = []string{"HOME=" + p.home, "USERPROFILE=" + p.home}
	cmd.Dir = p.home
	_ = cmd.Run()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() > 1 {
		check(fmt.Errorf("%s of %s: %v", command, h.Name, cmd.ProcessState))
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}
