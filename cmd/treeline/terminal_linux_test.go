package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

var escapes = regexp.MustCompile("\x1b\\[([0-9;]*[A-Za-z])")

// terminalCmd runs a command on a terminal of some columns, and prints its output with escapes as ⟨…⟩: terminal 80 treeline ls
func terminalCmd(ts *testscript.TestScript, _ bool, args []string) {
	columns, err := strconv.ParseUint(args[0], 10, 16)
	ts.Check(err)
	master, slave := openTerminal(ts)
	ts.Check(unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: uint16(columns)}))
	cmd := scriptProcess(ts, args[1:])
	cmd.Stdout = slave
	cmd.Stderr = ts.Stderr()
	ts.Check(cmd.Start())
	slave.Close()
	text := make(chan string)
	go func() {
		b, _ := io.ReadAll(master) // ends with an error when the terminal is closed
		text <- string(b)
	}()
	runErr := cmd.Wait()
	out := escapes.ReplaceAllString(strings.ReplaceAll(<-text, "\r\n", "\n"), "⟨$1⟩")
	_, err = io.WriteString(ts.Stdout(), out)
	ts.Check(err)
	ts.Check(runErr)
}

// openTerminal opens a pseudo-terminal, which is closed when the script ends.
func openTerminal(ts *testscript.TestScript) (master, slave *os.File) {
	master, slave, err := newTerminal()
	ts.Check(err)
	ts.Defer(func() { master.Close(); slave.Close() })
	return master, slave
}

// newTerminal opens a pseudo-terminal. The name of its slave is that of its device.
func newTerminal() (master, slave *os.File, err error) {
	if master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		return nil, nil, err
	}
	err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	n, numberErr := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err = errors.Join(err, numberErr); err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		return nil, nil, errors.Join(err, master.Close())
	}
	return master, slave, nil
}

// askedCmd runs a command that reads an answer from a terminal: asked y treeline rm one
func askedCmd(ts *testscript.TestScript, _ bool, args []string) {
	master, slave := openTerminal(ts)
	_, err := master.WriteString(args[0] + "\n")
	ts.Check(err)
	cmd := scriptProcess(ts, args[1:])
	cmd.Stdin = slave
	out, _ := cmd.CombinedOutput() // the exit code is 1 after the answer no
	_, err = ts.Stdout().Write(out)
	ts.Check(err)
}
