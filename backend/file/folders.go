package file

import "os"

// Folders returns the sorted names of the folders in a folder, without symbolic links.
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
