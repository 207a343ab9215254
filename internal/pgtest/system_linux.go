package pgtest

import (
	"os"
	"syscall"
)

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

// own makes the user the owner of a file.
func (c credential) own(path string) error {
	if !c.set {
		return nil
	}
	return os.Chown(path, c.uid, c.gid)
}
