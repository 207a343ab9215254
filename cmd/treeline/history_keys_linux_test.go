package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestHistoryKeys presses the keys in a real bash: a prompt full of commands is picked by its number, inserted quoted, and
// printed instead of run.
func TestHistoryKeys(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	const evil = "'; touch pwned1; $(touch pwned2) `touch pwned3` !! \"\nsecond & touch pwned4 *"
	add := historyProcess(home, "add", evil)
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := historyProcess(home)
	cmd.Path, cmd.Args = bash, []string{"bash", "--norc", "--noprofile", "-i"}
	cmd.Env = append(cmd.Env, "TERM=dumb", "PS1=@> ", "HISTFILE=", "INPUTRC=/dev/null")
	s := startShell(t, cmd)
	// Without fzf, whether it is installed or not.
	s.press("command() { if [[ $1 == -v && $2 == fzf ]]; then return 1; fi; builtin command \"$@\"; }\r")
	s.press("eval \"$(treeline history --shell-init bash)\"; echo ready$((1 + 1))\r")
	s.await("ready2")
	s.await("@> ") // now bash reads keys
	s.press("printf %s > printed \x18\x12")
	s.await("or nothing: ")
	s.press("1\r")
	s.await("pwned4 *'") // it is on the command line, quoted
	s.press("\r")
	s.press("echo done$((1 + 1)); exit\r")
	s.await("done2")
	printed, err := os.ReadFile(filepath.Join(home, "printed"))
	if err != nil || string(printed) != evil {
		t.Errorf("%q, %v; want no error, string(printed) == %v", printed, err, evil)
	}
	if ran, err := filepath.Glob(filepath.Join(home, "pwned*")); err != nil || len(ran) > 0 {
		t.Errorf("it was run: %q, %v", ran, err)
	}
}

// shell is a shell on a terminal.
type shell struct {
	t      *testing.T
	master *os.File
	seen   bytes.Buffer
}

func startShell(t *testing.T, cmd *exec.Cmd) *shell {
	t.Helper()
	return startOn(t, cmd, 400)
}

// startOn starts a command on a terminal of some columns.
func startOn(t *testing.T, cmd *exec.Cmd, columns uint16) *shell {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0) // so that reading can end
	if err != nil {
		t.Fatal(err)
	}
	master := os.NewFile(uintptr(fd), "/dev/ptmx")
	t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: columns}); err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &shell{t: t, master: master}
}

func (s *shell) press(keys string) {
	s.t.Helper()
	if _, err := s.master.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// await reads from the terminal until a text appears, and discards everything up to it.
func (s *shell) await(text string) {
	s.t.Helper()
	if err := s.master.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		s.t.Fatal(err)
	}
	for {
		if i := bytes.Index(s.seen.Bytes(), []byte(text)); i >= 0 {
			s.seen.Next(i + len(text))
			return
		}
		b := make([]byte, 4096)
		n, err := s.master.Read(b)
		s.seen.Write(b[:n])
		if err != nil {
			s.t.Fatalf("waiting for %q: %v; the terminal shows:\n%s", text, err, s.seen.String())
		}
	}
}
