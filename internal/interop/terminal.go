package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/internal/interop/projected"
	"github.com/treeline-dev/treeline/wire"
)

// onTerminal are sessions that the agent continues on a terminal, as a person would: by the command that "treeline resume"
// prints, and by "treeline resume --exec".
func onTerminal(opt options, notes io.Writer) (list []scene) {
	if _, err := exec.LookPath("script"); err != nil {
		fmt.Fprintf(notes, "interop: no agent was run on a terminal, which script(1) makes: %v\n", err)
		return nil
	}
	for i, words := range [][]string{{"resume"}, {"resume", "--exec"}} {
		list = append(list, scene{
			name: "terminal" + strings.Join(words[1:], ""), must: true,
			lay: func(ctx context.Context, d *desk) (treeline.ResumeCommand, error) {
				return d.write(ctx, rand.New(rand.NewPCG(opt.seed+uint64(i), 33)), (*author).create, (*author).resumed)
			},
			ask: func(ctx context.Context, d *desk, c treeline.ResumeCommand) (s sent, err error) {
				program, err := d.treeline(ctx, opt.work)
				if err != nil {
					return s, err
				}
				line := wire.ShellLine("", nil, append([]string{program}, append(words, c.Path)...))
				if len(words) == 1 {
					if line, err = d.printed(ctx, line); err != nil {
						return s, err
					}
				}
				return d.askOnTerminal(ctx, line)
			},
		})
	}
	return list
}

// building allows one desk at a time to build the program.
var building sync.Mutex

// treeline builds the command line of this library once.
func (d *desk) treeline(ctx context.Context, dir string) (string, error) {
	building.Lock()
	defer building.Unlock()
	path := filepath.Join(dir, "treeline")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	out, err := exec.CommandContext(ctx, "go", "build", "-o", path, "github.com/treeline-dev/treeline/cmd/treeline").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
}

// shell returns a command in the desk's working directory; the agent is in a folder of PATH.
func (d *desk) shell(ctx context.Context, words ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir = d.workDir
	cmd.Env = append(d.environ(), "PATH="+filepath.Dir(d.path)+":"+os.Getenv("PATH"), "SHELL=/bin/sh")
	return cmd
}

// printed returns the output of a command.
func (d *desk) printed(ctx context.Context, line string) (string, error) {
	out, err := d.shell(ctx, "sh", "-c", line).Output()
	return strings.TrimSpace(string(out)), err
}

// askOnTerminal starts a command on a terminal, types the prompt, and waits for the request. script(1) makes the terminal.
func (d *desk) askOnTerminal(ctx context.Context, line string) (s sent, err error) {
	d.api.Take()
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	cmd := d.shell(ctx, "script", "-q", "-f", "-e", "-c", "stty rows 40 cols 120; "+line, os.DevNull)
	in, err := cmd.StdinPipe()
	if err != nil {
		return s, err
	}
	seen := &screen{keys: in, last: time.Now()}
	cmd.Stdout, cmd.Stderr = seen, seen
	cmd.WaitDelay = 5 * time.Second // its children may hold the pipe open
	if err := cmd.Start(); err != nil {
		return s, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer func() {
		cancel()
		_ = in.Close()
		<-ended
		d.killRest()
	}()
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	var hand typist
	for {
		select {
		case err := <-ended:
			ended <- err
			return s, fmt.Errorf("%q ended before it sent the prompt: %v\n%s", line, err, seen.text())
		case <-ctx.Done():
			return s, fmt.Errorf("%q did not send the prompt: %w\n%s", line, context.Cause(ctx), seen.text())
		case <-look.C:
		}
		if ok, err := d.took(&s); ok || err != nil {
			return s, err
		}
		if keys := hand.next(time.Now(), seen.quiet); keys != "" {
			_, err = io.WriteString(in, keys)
		}
		if err != nil {
			return s, err
		}
	}
}

// typist types the prompt on a terminal.
type typist struct {
	last   time.Time // when keys were pressed; zero before the prompt
	wait   time.Duration
	enters int
}

// next gives the keys to press now, or "".
func (t *typist) next(now time.Time, quiet func(time.Duration) bool) string {
	switch {
	case t.last.IsZero() && quiet(1500*time.Millisecond):
		t.last, t.wait, t.enters = now, time.Second, 0
		return projected.NextPrompt
	case t.last.IsZero() || now.Sub(t.last) <= t.wait || !quiet(300*time.Millisecond):
		return ""
	case t.enters == 2:
		// A program that was only quiet because it starts slowly has thrown the prompt away. What is there of it is deleted.
		t.last = time.Time{}
		return "\x15"
	}
	// Enter is another key press: at once with the text it would count as pasted.
	t.last, t.wait, t.enters = now, 11*time.Second, t.enters+1
	return "\r"
}

// killRest kills the processes that an agent left behind, which are those with the desk's home (Linux). A terminal that is closed only
// asks them to end, and until then they write files and send requests.
func (d *desk) killRest() {
	home := []byte("\x00HOME=" + d.home + "\x00")
	for range 100 {
		left := false
		found, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is valid
		for _, path := range found {
			env, _ := os.ReadFile(path) // the process may have ended, or be that of another user
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if !bytes.Contains(append([]byte{0}, env...), home) {
				continue
			}
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill() // it may have ended
				left = true
			}
		}
		if !left {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// screen keeps what a program shows on a terminal. It answers the queries that programs send to a terminal.
type screen struct {
	keys io.Writer

	mu   sync.Mutex
	seen []byte
	last time.Time
}

// Write implements io.Writer.
func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen, s.last = append(s.seen, b...), time.Now()
	for ask, answer := range map[string]string{"\x1b[6n": "\x1b[1;1R", "\x1b[c": "\x1b[?62;c"} {
		if bytes.Contains(b, []byte(ask)) {
			if _, err := io.WriteString(s.keys, answer); err != nil {
				return 0, err
			}
		}
	}
	return len(b), nil
}

// quiet reports whether something was shown, and nothing more for a while.
func (s *screen) quiet(d time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.seen) > 0 && time.Since(s.last) > d
}

// text returns the end of what was shown.
func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("%.4000q", s.seen[max(0, len(s.seen)-4000):])
}
