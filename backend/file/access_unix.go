//go:build unix

package file

import "golang.org/x/sys/unix"

// Access reports whether a path exists, and whether this process may read and write it.
func Access(path string) (exists, read, write bool) {
	return unix.Access(path, unix.F_OK) == nil, unix.Access(path, unix.R_OK) == nil, unix.Access(path, unix.W_OK) == nil
}
