package durable

import (
	"os"
	"syscall"
)

func mtime(st *syscall.Stat_t) int64 { return st.Mtimespec.Nano() }

// changed is unknown: whether a rename counts is up to the file system here.
func changed(*syscall.Stat_t) int64 { return 0 }

// syncFile leaves the work to os.File, which knows that fsync(2) on this system stops at the drive's own cache and how to
// ask for more. It gets a duplicate, because an os.File closes what it was given.
// Both scopes are the same there.
func syncFile(fd int, _ Scope) error {
	d, err := syscall.Dup(fd)
	if err != nil {
		return err
	}
	// os.NewFile would otherwise hand it to the poller.
	if err := syscall.SetNonblock(d, false); err != nil {
		_ = syscall.Close(d)
		return err
	}
	f := os.NewFile(uintptr(d), "")
	defer f.Close()
	return f.Sync()
}

// mapWhole is not known here: pages come in one by one.
const mapWhole = 0
