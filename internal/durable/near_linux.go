//go:build linux && (amd64 || arm64)

package durable

import (
	"syscall"
	"unsafe"
)

// Around a system call Go's scheduler gets ready for one that waits, which takes a quarter of the time of a short one. A
// lock that is not waited for, and what is known of an open file, come at once where the file system is in this machine's
// own memory and disks; on a network, or behind a program, they may take as long as they like.

// isNear says whether the file lies on such a file system.
func isNear(fd int) bool {
	var st syscall.Statfs_t
	if syscall.Fstatfs(fd, &st) != nil {
		return false
	}
	// The numbers are those of statfs(2). A file system that is not in the list is taken for slow, which is always
	// right.
	switch uint32(st.Type) {
	case 0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0x01021994: // ext, xfs, btrfs, f2fs, tmpfs
		return true
	}
	return false
}

// A raw call keeps the scheduler's thread; that is only right for what returns at once.
func (f *unixFile) fstat(st *syscall.Stat_t) error {
	if !f.near {
		return syscall.Fstat(f.fd, st)
	}
	if _, _, e := syscall.RawSyscall(syscall.SYS_FSTAT, uintptr(f.fd), uintptr(unsafe.Pointer(st)), 0); e != 0 {
		return e
	}
	return nil
}

// flock must not be asked to wait.
func (f *unixFile) flock(how int) error {
	if !f.near {
		return syscall.Flock(f.fd, how)
	}
	if _, _, e := syscall.RawSyscall(syscall.SYS_FLOCK, uintptr(f.fd), uintptr(how), 0); e != 0 {
		return e
	}
	return nil
}
