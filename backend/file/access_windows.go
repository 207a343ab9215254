package file

import "os"

// Access says whether a path exists, and whether it may be read and written. Here the latter is known only when it is
// tried: what is not marked as read-only counts as writable.
func Access(path string) (exists, read, write bool) {
	info, err := os.Stat(path)
	if err != nil {
		return false, false, false
	}
	return true, true, info.Mode().Perm()&0o200 != 0
}
