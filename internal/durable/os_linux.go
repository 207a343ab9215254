package durable

import "syscall"

func mtime(st *syscall.Stat_t) int64 { return st.Mtim.Nano() }

// changed returns the change time, which a rename, a link and the removal of a name update too.
func changed(st *syscall.Stat_t) int64 { return st.Ctim.Nano() }

// syncFile uses fdatasync for Data: it leaves out times, so it is faster.
func syncFile(fd int, what Scope) error {
	if what == Data {
		return syscall.Fdatasync(fd)
	}
	return syscall.Fsync(fd)
}
