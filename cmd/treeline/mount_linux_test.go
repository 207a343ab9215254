package main

import (
	"os"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

// canMount reports whether file systems can be mounted here, as root mostly can.
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

// diskCmd mounts a small file system at a folder until the script ends: disk DIR 64k
// With ro it makes the folder itself read-only: disk DIR ro
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
