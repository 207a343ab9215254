package pgtest

import "syscall"

// credential is empty: there is no root.
type credential struct {
	uid, gid int
	set      bool
}

func (credential) attr() *syscall.SysProcAttr { return nil }

func (credential) own(string) error { return nil }
