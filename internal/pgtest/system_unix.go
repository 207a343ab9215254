//go:build unix && !linux

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

func (c credential) attr() *syscall.SysProcAttr {
	if !c.set {
		return nil
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(c.uid), Gid: uint32(c.gid)}}
}

// own makes the user the owner of a file.
func (c credential) own(path string) error {
	if !c.set {
		return nil
	}
	return os.Chown(path, c.uid, c.gid)
}
