package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	drivers "github.com/treeline-dev/treeline/backend/all"
	"github.com/treeline-dev/treeline/internal/demo"
	"github.com/treeline-dev/treeline/internal/pgtest"
)

// window is a window of tmux: a real terminal.
type window struct {
	t      *testing.T
	socket string
}

// demoWindow runs a shell command line on the demo in a window of 110 columns and 30 lines.
func demoWindow(t *testing.T, line string) *window {
	t.Helper()
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		t.Skip("tmux is not installed")
	}
	home := t.TempDir()
	if err := demo.Write(t.Context(), home, time.Now, drivers.Drivers()...); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "tmux") // tmux removes its socket at some later time
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w := &window{t: t, socket: filepath.Join(dir, "socket")}
	cmd := exec.Command(tmux, "-S", w.socket, "-f", "/dev/null", "new-session", "-d", "-x", "110", "-y", "30", line+"; sleep 100")
	cmd.Env = append(environ(home), "TERM=xterm")
	cmd.Dir = home
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("tmux: %v: %s", err, out)
	}
	t.Cleanup(func() { w.tmux("kill-server") })
	return w
}

// environ is the environment of the demo.
func environ(home string) []string {
	return append(os.Environ(), "HOME="+home, "XDG_STATE_HOME=", "XDG_CACHE_HOME=", "XDG_DATA_HOME=", "TZ=UTC", "SHELL=/bin/sh")
}

func (w *window) tmux(args ...string) string {
	w.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", w.socket}, args...)...).CombinedOutput()
	if err != nil {
		w.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return string(out)
}

// press presses keys by tmux's names.
func (w *window) press(keys ...string) { w.tmux(append([]string{"send-keys"}, keys...)...) }

// types types a text.
func (w *window) types(text string) { w.tmux("send-keys", "-l", text) }

// shows waits until the window contains all texts.
func (w *window) shows(texts ...string) string {
	w.t.Helper()
	screen := ""
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) { // tmux does not report changes
		screen = w.tmux("capture-pane", "-p", "-J")
		missing := false
		for _, text := range texts {
			missing = missing || !strings.Contains(screen, text)
		}
		if !missing {
			return screen
		}
	}
	w.t.Fatalf("the window does not show %q:\n%s", texts, screen)
	return ""
}

// TestTerminal uses the program as a person does: filter, open, switch the branch, label, resume elsewhere, quit.
func TestTerminal(t *testing.T) {
	t.Parallel()
	w := demoWindow(t, "treeline; echo ended with $?")
	const head = "19 sessions · 13 agents"
	w.shows(head, "Prices are off by a cent")
	if guide, err := os.ReadFile(filepath.Join("..", "..", "docs", "guide.md")); err != nil || !strings.Contains(string(guide), head) {
		t.Errorf("the picture of this screen in docs/guide.md does not say %q (%v)", head, err)
	}
	w.press("/")
	w.types("off by a cent")
	w.shows("1 of 19 sessions")
	w.press("Enter")
	w.shows("─ tree ─", "118 of 3,412 stored invoices")
	w.press("[")
	w.shows("Done, but two tests still fail", "branch 1 of 2")
	w.press("l")
	w.shows("Label for entry")
	w.types("seen")
	w.press("Enter")
	w.shows("⚑ seen")
	w.press("R")
	w.shows("Resume in which agent?")
	w.press("Down", "Enter")
	w.shows("To continue in pi:", "Nothing is lost", "copy the command")
	w.press("Enter")
	w.shows("copied the resume command: pi --session")
	w.press("Escape") // back to the list
	w.shows("› off by a cent")
	w.press("q")
	w.shows("pi --session ", "ended with 0")
	if screen := w.tmux("capture-pane", "-p"); strings.Contains(screen, "sessions ·") {
		t.Errorf("the screen is still there:\n%s", screen)
	}
}

// TestPickInScript: the choice is the output of the command, although the screen is drawn.
func TestPickInScript(t *testing.T) {
	t.Parallel()
	w := demoWindow(t, `x=$(treeline pick --path tiles); echo "picked=$x code=$?"; x=$(treeline pick); echo "picked=$x code=$?"; x=$(treeline pick --entry cent); echo "entry=$x"`)
	w.shows("pick a session", "Tiles load twice", "1 of 19 sessions")
	w.press("Enter")
	w.shows("Notes for release 2.4") // the second, without a filter
	w.press("C-c")
	w.shows("1 of 19 sessions") // the third
	w.press("Enter")
	w.shows("enter pick", "118 of 3,412")
	w.press("Enter")
	screen := w.shows("entry=0")
	if !strings.Contains(screen, "/.pi/agent/sessions/") || !strings.Contains(screen, ".jsonl code=0") || !strings.Contains(screen, "picked= code=1") {
		t.Errorf("the script printed:\n%s", screen)
	}
	if i := strings.Index(screen, "entry=0"); !strings.Contains(strings.SplitN(screen[i:], "\n", 2)[0], "#") {
		t.Errorf("no entry was picked:\n%s", screen)
	}
}

// TestTerminalSignals: whatever ends the program, the terminal is restored.
func TestTerminalSignals(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for _, signal := range []os.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, os.Interrupt} {
		cmd := exec.Command("treeline")
		cmd.Env, cmd.Dir = append(environ(home), "TERM=xterm"), home
		s := startOn(t, cmd, 100)
		s.await("\x1b[?1049h")
		s.await("There are no sessions yet")
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		s.await("\x1b[?1049l")
		s.await("treeline: interrupted")
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitProblem {
			t.Errorf("%v: %v; want errors.As(err, &exit), exit.ExitCode() == %v", signal, err, exitProblem)
		}
	}
}

// TestTerminalOnArchive: the sessions of an archive are listed, opened and labelled where they are.
func TestTerminalOnArchive(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).Database(t, "terminal")
	w := demoWindow(t, "treeline push '"+url+"' >/dev/null 2>&1; treeline --store '"+url+"'; echo ended with $?")
	w.shows("sessions · ", "Prices are off by a cent")
	w.press("/")
	w.types("off by a cent")
	w.shows("1 session ·")
	w.press("Enter")
	w.shows("─ tree ─", "118 of 3,412 stored invoices")
	w.press("l")
	w.shows("Label for entry")
	w.types("seen")
	w.press("Enter")
	w.shows("⚑ seen")
	w.press("q", "q")
	w.shows("ended with 0")
}

// TestPickWithoutTerminal: the error says so, and what to use instead.
func TestPickWithoutTerminal(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	cmd := exec.Command("treeline", "pick")
	cmd.Env, cmd.Dir = environ(home), home
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitProblem || !strings.Contains(string(out), "there is no terminal to choose on; 'treeline ls'") {
		t.Errorf(`%v: %s; want errors.As(err, &exit), exit.ExitCode() == %v, strings.Contains(string(out), "there is no terminal to choose on; 'treeline ls'")`, err, out, exitProblem)
	}
}
