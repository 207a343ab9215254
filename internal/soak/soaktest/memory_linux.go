package soaktest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// MemoryFolder makes a folder in memory, so that nothing waits for a disk. It returns "" if the system has no room for one, or runs no
// programs from there. The caller removes the folder.
func MemoryFolder() string {
	const parent, room, noexec = "/dev/shm", 2 << 30, 8
	var s syscall.Statfs_t
	if err := syscall.Statfs(parent, &s); err != nil || s.Bavail*uint64(s.Bsize) < room || s.Flags&noexec != 0 {
		return ""
	}
	// A process that was killed leaves its folders, which take memory.
	left, _ := filepath.Glob(parent + "/tl*-*") // the pattern is valid
	for _, path := range left {
		var pid int
		if _, err := fmt.Sscanf(filepath.Base(path), "tl%d-", &pid); err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.RemoveAll(path) // it may belong to another user
		}
	}
	for n := 0; ; n++ {
		dir := fmt.Sprintf("%s/tl%d-%d", parent, os.Getpid(), n) // short, since some tests print paths in narrow columns
		if err := os.Mkdir(dir, 0o700); err == nil {
			return dir
		} else if !errors.Is(err, fs.ErrExist) {
			return ""
		}
	}
}
