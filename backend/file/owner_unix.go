//go:build unix

package file

import (
	"errors"
	"syscall"
)

// alive says whether a process of that number may exist.
func alive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
