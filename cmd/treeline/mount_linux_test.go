package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// askedCmd runs a command whose input is a terminal, at which somebody types an answer: asked y treeline rm one
func askedCmd(ts *testscript.TestScript, _ bool, args []string) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	ts.Check(err)
	defer master.Close()
	ts.Check(unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	ts.Check(err)
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	ts.Check(err)
	defer slave.Close()
	_, err = master.WriteString(args[0] + "\n")
	ts.Check(err)
	path := args[1]
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if _, err := os.Stat(filepath.Join(dir, args[1])); err == nil {
			path = filepath.Join(dir, args[1])
			break
		}
	}
	cmd := exec.Command(path, args[2:]...)
	cmd.Dir, cmd.Stdin = ts.MkAbs("."), slave
	cmd.Env = []string{"HOME=" + ts.Getenv("HOME"), "PATH=" + ts.Getenv("PATH")}
	out, _ := cmd.CombinedOutput() // a no is no success
	_, err = ts.Stdout().Write(out)
	ts.Check(err)
}

// canMount says whether file systems can be mounted here: for root, mostly.
func canMount() bool {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		return false
	}
	defer os.Remove(dir)
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		return false
	}
	return syscall.Unmount(dir, syscall.MNT_DETACH) == nil
}

// diskCmd puts a small file system at a folder, until the script ends: disk DIR 64k
// With ro it makes the folder's own read-only: disk DIR ro
func diskCmd(ts *testscript.TestScript, _ bool, args []string) {
	dir := ts.MkAbs(args[0])
	if args[1] == "ro" {
		ts.Check(syscall.Mount(dir, dir, "", syscall.MS_BIND, ""))
		ts.Defer(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
		ts.Check(syscall.Mount("", dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
		return
	}
	ts.Check(os.MkdirAll(dir, 0o700))
	ts.Check(syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+args[1]))
	ts.Defer(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
}
