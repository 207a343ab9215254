package durable

import "syscall"

func mtime(st *syscall.Stat_t) int64 { return st.Mtim.Nano() }

// changed is the time of change. To rename a file, to link it and to remove one of its names counts as one.
func changed(st *syscall.Stat_t) int64 { return st.Ctim.Nano() }

// fdatasync leaves out times, which nobody needs after a crash, and is faster for it.
func syncFile(fd int, what Scope) error {
	if what == Data {
		return syscall.Fdatasync(fd)
	}
	return syscall.Fsync(fd)
}

// mapWhole brings in all pages of a mapping at once.
const mapWhole = syscall.MAP_POPULATE
