package place

import (
	"os"
	"slices"
	"sync"

	"github.com/treeline-dev/treeline/dialect"
)

// folders lists each folder once: the layouts of all dialects ask about the same ones.
type folders struct {
	list  func(dir string) ([]string, error)
	mu    sync.Mutex
	known map[string]listing
}

// listing is what is known of a folder.
type listing struct {
	names []string
	err   error
}

// names returns the names of the folders in a folder.
func (f *folders) names(dir string) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.look(dir)
	return l.names, l.err
}

func (f *folders) look(dir string) listing {
	l, ok := f.known[dir]
	if !ok {
		l.names, l.err = f.list(dir)
		f.known[dir] = l
	}
	return l
}

// add adds a folder that is about to be made, and reports whether it is new.
func (f *folders) add(dir, name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.look(dir)
	if slices.Contains(l.names, name) {
		return false
	}
	f.known[dir] = listing{names: append(slices.Clip(l.names), name)}
	return true
}

// DropFolder removes the folder of a log that was removed if the agent does so, the folder is one of the agent's, and it is empty.
func (m *Machine) DropFolder(d dialect.Dialect, path string) {
	w, ok := d.(dialect.Writer)
	if !ok || !w.Habits().DropsEmptyFolders || path == "" || isURL(path) {
		return
	}
	abs, err := Abs(path)
	if err != nil {
		return
	}
	dir := Dir(abs)
	// Never the agent's folder of sessions itself, nor one that the user chose.
	for _, r := range d.Layout().Roots(m.opt.Env) {
		if dir != Clean(r.Sessions) && Within(r.Sessions, dir) {
			// If dir is a symbolic link, Remove would remove the link, whatever is left in the folder.
			if info, err := os.Lstat(dir); err == nil && info.IsDir() {
				_ = os.Remove(dir) // fails if the folder is not empty: it stays
			}
		}
	}
}
