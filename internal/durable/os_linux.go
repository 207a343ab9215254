package durable

import "syscall"

func mtime(st *syscall.Stat_t) int64 { return st.Mtim.Nano() }

func syncFile(fd int, what Scope) error {
	if what == Data {
		return syscall.Fdatasync(fd)
	}
	return syscall.Fsync(fd)
}
