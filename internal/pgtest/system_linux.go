package pgtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// memoryFolder is a folder in memory with room for a server; "" if there is none.
func memoryFolder() string {
	const dir, room = "/dev/shm", 2 << 30
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil || s.Bavail*uint64(s.Bsize) < room || syscall.Access(dir, 2) != nil {
		return ""
	}
	// A process that was killed leaves its folders, which take memory.
	left, _ := filepath.Glob(dir + "/pg*-*") // the pattern is valid
	for _, path := range left {
		var pid int
		if _, err := fmt.Sscanf(filepath.Base(path), "pg%d-", &pid); err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.RemoveAll(path) // it may be that of another user
		}
	}
	return dir
}

// credential is the user that programs run as, if set.
type credential struct {
	uid, gid int
	set      bool
}

// attr makes a process run as that user, and end with this one: PostgreSQL takes SIGQUIT for an immediate stop.
func (c credential) attr() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if c.set {
		attr.Credential = &syscall.Credential{Uid: uint32(c.uid), Gid: uint32(c.gid)}
	}
	return attr
}

// own gives a file to the user.
func (c credential) own(path string) error {
	if !c.set {
		return nil
	}
	return os.Chown(path, c.uid, c.gid)
}
