package place

import (
	"os"

	"github.com/treeline-dev/treeline/dialect"
)

// DropFolder removes the folder of a log that was removed, if the agent does so, the folder is one of the agent's, and
// nothing is left in it.
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
			_ = os.Remove(dir) // fails if anything is left, and then the folder stays
		}
	}
}
