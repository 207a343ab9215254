package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

var escapes = regexp.MustCompile("\x1b\\[([0-9;]*[A-Za-z])")

// terminalCmd runs a command whose output is a terminal of so many columns, and gives what it printed, escapes as ⟨…⟩:
// terminal 80 treeline ls
func terminalCmd(ts *testscript.TestScript, _ bool, args []string) {
	columns, err := strconv.Atoi(args[0])
	ts.Check(err)
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	ts.Check(err)
	defer master.Close()
	ts.Check(unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	ts.Check(err)
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	ts.Check(err)
	ts.Check(unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: uint16(columns)}))

	path := args[1]
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if _, err := os.Stat(filepath.Join(dir, args[1])); err == nil {
			path = filepath.Join(dir, args[1])
			break
		}
	}
	cmd := exec.Command(path, args[2:]...)
	cmd.Dir = ts.MkAbs(".")
	for _, key := range []string{"PATH", "HOME", "TZ", "TERM", "PAGER", "NO_COLOR", "LESS"} {
		if v := ts.Getenv(key); v != "" || key == "PAGER" {
			cmd.Env = append(cmd.Env, key+"="+v)
		}
	}
	cmd.Stdout = slave
	cmd.Stderr = ts.Stderr()
	ts.Check(cmd.Start())
	slave.Close()
	text := make(chan string)
	go func() {
		b, _ := io.ReadAll(master) // ends with an error when the last one closes the terminal
		text <- string(b)
	}()
	runErr := cmd.Wait()
	out := escapes.ReplaceAllString(strings.ReplaceAll(<-text, "\r\n", "\n"), "⟨$1⟩")
	_, err = io.WriteString(ts.Stdout(), out)
	ts.Check(err)
	ts.Check(runErr)
}
