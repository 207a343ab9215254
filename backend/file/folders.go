package file

import "os"

// Folders lists the names of the folders in a folder, sorted. Symbolic links are none.
func Folders(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, err
}
