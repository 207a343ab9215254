package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/wire"
)

// someSessions is the number of files that is enough to show progress.
const someSessions = 60

// sessionsHome is a home with sessions that are not indexed yet.
func sessionsHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	if err := gen.Tree(filepath.Join(home, ".omp", "agent"), gen.TreeOptions{Seed: 3, Sessions: someSessions, Bytes: someSessions * 2000}); err != nil {
		t.Fatal(err)
	}
	return home
}

// eagerly returns a command that shows its progress from the first file on.
func eagerly(home string, env []string, args ...string) *exec.Cmd {
	return sessionsCommand("treeline-eager", home, env, args...)
}

func sessionsCommand(program, home string, env []string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Env = append(append(os.Environ(), "HOME="+home, "XDG_STATE_HOME=", "XDG_CACHE_HOME=", "XDG_CONFIG_HOME=", "TZ=UTC", "TERM=xterm",
		"NO_COLOR=", "PAGER=cat"), env...)
	cmd.Dir = home
	return cmd
}

// rest reads from the terminal until the command ends, and returns its exit code.
func (s *shell) rest(cmd *exec.Cmd) (text string, code int) {
	s.t.Helper()
	if err := s.master.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		s.t.Fatal(err)
	}
	for {
		b := make([]byte, 4096)
		n, err := s.master.Read(b)
		s.seen.Write(b[:n])
		if errors.Is(err, syscall.EIO) || errors.Is(err, io.EOF) {
			break // the terminal is closed
		}
		if err != nil {
			s.t.Fatalf("waiting for the end: %v; the terminal shows:\n%s", err, s.seen.String())
		}
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return s.seen.String(), cmd.ProcessState.ExitCode()
}

// screenAfter returns the lines that a terminal shows in the end: \r goes to the start of the line, ESC[K erases the rest. Colours are
// ignored.
func screenAfter(text string) []string {
	text = regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(text, "")
	lines, at := []string{""}, 0
	for len(text) > 0 {
		line := &lines[len(lines)-1]
		switch {
		case strings.HasPrefix(text, "\x1b[K"):
			*line, text = (*line)[:at], text[3:]
		case text[0] == '\r':
			at, text = 0, text[1:]
		case text[0] == '\n':
			lines, at, text = append(lines, ""), 0, text[1:]
		default:
			*line = (*line)[:at] + text[:1] + (*line)[min(at+1, len(*line)):]
			at, text = at+1, text[1:]
		}
	}
	return lines
}

var told = regexp.MustCompile(`reading(?: sessions)? [0-9,]+ of ([0-9,]+) files?`)

// filesTold returns the number of files that a command reported.
func filesTold(t *testing.T, text string) int {
	t.Helper()
	m := told.FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no progress is shown in\n%q", text)
	}
	n, err := strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Progress is shown on a terminal and erased at the end. Without a terminal, or on one that cannot erase a line, there is
// none.
func TestProgress(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		args  []string
		shows string // in the end
	}{
		{"ls", []string{"ls", "--all", "--limit", "3"}, "^WHEN +PROJECT"},
		{"search", []string{"search", "the", "--limit", "3"}, "^3 of "},
		{"import", []string{"history", "import"}, "^[0-9,]+ prompts in 60 sessions"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			home := sessionsHome(t)
			cmd := eagerly(home, nil, tt.args...)
			text, code := startShell(t, cmd).rest(cmd)
			if of := filesTold(t, text); of != someSessions || code != 0 {
				t.Errorf("progress of %d files, exit code %d", of, code)
			}
			end := strings.Join(screenAfter(text), "\n")
			if told.MatchString(end) || !regexp.MustCompile("(?m)"+tt.shows).MatchString(end) {
				t.Errorf("the terminal shows in the end\n%s", end)
			}

			// In a pipe.
			if err := os.RemoveAll(filepath.Join(home, ".cache")); err != nil {
				t.Fatal(err)
			}
			cmd = eagerly(home, nil, tt.args...)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if err := cmd.Run(); err != nil {
				t.Fatal(err)
			}
			if all := stdout.String() + stderr.String(); strings.ContainsAny(all, "\x1b\r") || told.MatchString(all) {
				t.Errorf("in a pipe: %q", all)
			}

			// On a terminal that can do nothing.
			if err := os.RemoveAll(filepath.Join(home, ".cache")); err != nil {
				t.Fatal(err)
			}
			cmd = eagerly(home, []string{"TERM=dumb"}, tt.args...)
			if text, _ := startShell(t, cmd).rest(cmd); strings.Contains(text, "\x1b") || told.MatchString(text) {
				t.Errorf("with TERM=dumb: %q", text)
			}
		})
	}
}

// Progress within a session that is larger than all others is shown, too, and no line is too long to be erased.
func TestProgressWithinLog(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	path := filepath.Join(home, ".omp/agent/sessions/-p/2026-01-01T00-00-00-000Z_s.jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, gen.Session(gen.Options{Seed: 5, Bytes: 5 << 20}), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := eagerly(home, nil, "ls", "--all")
	text, code := startShell(t, cmd).rest(cmd)
	percents, last := 0, -1
	for _, m := range regexp.MustCompile(`reading sessions [01] of 1 file, ([0-9]+) %\r`).FindAllStringSubmatch(text, -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil || n <= last {
			t.Errorf("%s %% after %d %%, %v", m[1], last, err)
		}
		percents, last = percents+1, n
	}
	if percents < 5 || percents > 7 || last != 100 || code != 0 {
		t.Errorf("%d times, in the end %d %%, exit code %d: %q", percents, last, code, text)
	}

	if err := os.RemoveAll(filepath.Join(home, ".cache")); err != nil {
		t.Fatal(err)
	}
	cmd = eagerly(home, nil, "ls", "--all")
	text, code = startOn(t, cmd, 20).rest(cmd)
	if strings.Count(text, "\x1b[Kreading sessions 0…\r") < 4 || code != 0 {
		t.Errorf("on 20 columns: exit code %d, %q", code, text)
	}
}

// A notice in between has a line of its own. NO_COLOR removes colours, and the line is erased nevertheless.
func TestProgressAndNotice(t *testing.T) {
	t.Parallel()
	home := sessionsHome(t)
	if err := os.WriteFile(filepath.Join(home, ".cache"), nil, 0o600); err != nil { // in place of a folder
		t.Fatal(err)
	}
	cmd := eagerly(home, []string{"NO_COLOR=1"}, "ls", "--all", "--limit", "3")
	text, code := startShell(t, cmd).rest(cmd)
	filesTold(t, text)
	if regexp.MustCompile("\x1b\\[[0-9;]*m").MatchString(text) {
		t.Errorf("with NO_COLOR: %q", text)
	}
	lines := screenAfter(text)
	if code != 0 || !strings.HasPrefix(lines[0], "treeline: the index in ") || !strings.HasPrefix(lines[1], "WHEN") {
		t.Errorf("exit code %d, the terminal shows\n%s", code, strings.Join(lines, "\n"))
	}
}

// Ctrl-C ends a command at once. What was read is stored: the next command reads only the rest.
func TestProgressInterrupted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		args []string
		kept func(t *testing.T, home string) int
	}{
		{"ls", []string{"ls", "--all"}, inCatalogue},
		{"search", []string{"search", "the"}, inCatalogue},
		{"import", []string{"history", "import"}, imported},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			home := sessionsHome(t)
			cmd := sessionsCommand("treeline-pausing", home, nil, tt.args...)
			s := startShell(t, cmd)
			s.glance() // one session is read
			s.press("\x03")
			text, code := s.rest(cmd)
			end := strings.TrimRight(strings.Join(screenAfter(text), "\n"), "\n")
			if code != 1 || !strings.HasSuffix(end, "treeline: interrupted") || told.MatchString(end) {
				t.Fatalf("exit code %d, the terminal shows\n%s", code, end)
			}
			if kept := tt.kept(t, home); kept != 1 {
				t.Fatalf("%d sessions are kept, want 1", kept)
			}
			if tt.name == "import" {
				return // the report says how many were not read again
			}
			cmd = eagerly(home, nil, tt.args...)
			text, _ = startShell(t, cmd).rest(cmd)
			if of := filesTold(t, text); of != someSessions-1 {
				t.Errorf("%d files are read, and not the %d that were left", of, someSessions-1)
			}
		})
	}
}

// inCatalogue counts the sessions in the catalogue.
func inCatalogue(_ *testing.T, home string) (n int) {
	for _, src := range index.Open(index.Options{Dir: filepath.Join(home, ".cache", "treeline")}).Catalogue().Sources {
		n += src.Logs.Len()
	}
	return n
}

// imported counts the sessions that an import does not read again.
func imported(t *testing.T, home string) int {
	t.Helper()
	out, err := eagerly(home, nil, "history", "import", "--json").Output()
	var report wire.Import
	if err == nil {
		err = json.Unmarshal(out, &report)
	}
	if err != nil {
		t.Fatal(err)
	}
	return report.Unchanged
}

// glance reads the beginning of the terminal's output.
func (s *shell) glance() {
	s.t.Helper()
	if err := s.master.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		s.t.Fatal(err)
	}
	b := make([]byte, 16)
	n, err := s.master.Read(b)
	if err != nil {
		s.t.Fatal(err)
	}
	s.seen.Write(b[:n])
}
