package durable

import (
	"errors"
	"os"
	"syscall"
)

func mtime(st *syscall.Stat_t) int64 { return st.Mtimespec.Nano() }

// changed is unknown: on darwin the file system decides whether a rename counts.
func changed(*syscall.Stat_t) int64 { return 0 }

// syncFile uses os.File for both scopes: on darwin fsync(2) stops at the cache of the drive, and os.File uses the call that goes further.
// It gets a duplicate, because an os.File closes its descriptor.
func syncFile(fd int, _ Scope) error {
	d, err := syscall.Dup(fd)
	if err != nil {
		return err
	}
	// Otherwise os.NewFile would register it with the poller.
	if err := syscall.SetNonblock(d, false); err != nil {
		_ = syscall.Close(d)
		return err
	}
	f := os.NewFile(uintptr(d), "")
	defer f.Close()
	return f.Sync()
}

// ownMark is only for Linux.
const ownMark = 0

// Writers implements Shared.
func (f *unixFile) Writers() ([]Writer, error) { return nil, f.fail("writers", errors.ErrUnsupported) }
