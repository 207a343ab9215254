package place

import (
	"os"

	"github.com/treeline-dev/treeline/dialect"
)

// DropFolder removes the folder of a log that was removed, if it is empty, the agent does so itself, and the folder is
// one of the agent's for a working directory. It never removes the agent's folder of sessions.
func (m *Machine) DropFolder(d dialect.Dialect, path string) {
	w, ok := d.(dialect.Writer)
	abs, err := Abs(path)
	if !ok || !w.Habits().DropsEmptyFolders || err != nil || path == "" || isURL(abs) {
		return
	}
	dir := Dir(abs)
	for _, r := range d.Layout().Roots(m.opt.Env) {
		if dir != Clean(r.Sessions) && Within(r.Sessions, dir) {
			_ = os.Remove(dir) // fails if anything is left in it
		}
	}
}
