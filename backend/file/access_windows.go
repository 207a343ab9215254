package file

import "os"

// Access reports whether a path exists, and whether it may be read and written. On Windows only an attempt would tell, so a
// file that is not marked as read-only counts as writable.
func Access(path string) (exists, read, write bool) {
	info, err := os.Stat(path)
	if err != nil {
		return false, false, false
	}
	return true, true, info.Mode().Perm()&0o200 != 0
}
