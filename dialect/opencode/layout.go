package opencode

import (
	"path/filepath"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/rowlog"
)

// layout is the layout of all sessions in one database, which appears here as a folder of logs, or in a folder of files.
type layout struct {
	rowlog.Names
	files bool
}

// drivers are the names of the backend.Drivers that show sessions as logs.
const (
	driver      = "opencode"
	fileDriver  = "opencode-storage"
	storageName = "storage"
	database    = "opencode.db"
)

// Roots returns the place that OPENCODE_DB names, then the one in the data folder of the user.
func (l layout) Roots(env dialect.Env) []dialect.Root {
	data := rowlog.DataHome(env)
	usual := l.RootAt(filepath.Join(data, "opencode"))
	if name := env.Getenv("OPENCODE_DB"); name != "" && name != ":memory:" && !l.files {
		if !filepath.IsAbs(name) {
			name = filepath.Join(data, "opencode", name)
		}
		if at := (dialect.Root{Sessions: filepath.Clean(name), Driver: driver}); at != usual {
			return []dialect.Root{at, usual}
		}
	}
	return []dialect.Root{usual}
}

// RootAt returns the place in the folder of the program.
func (l layout) RootAt(dir string) dialect.Root {
	if l.files {
		return dialect.Root{Sessions: filepath.Join(dir, storageName), Driver: fileDriver}
	}
	return dialect.Root{Sessions: filepath.Join(dir, database), Driver: driver}
}

// Place returns the path of a database, or of a folder of files, in dir, with the names that the program uses below XDG_DATA_HOME.
func (l layout) Place(dir string) string {
	base := filepath.Base(dir)
	switch {
	case filepath.Ext(base) == ".db" || l.files && base == storageName:
		return dir
	case base == "opencode":
		return l.RootAt(dir).Sessions
	}
	return l.RootAt(filepath.Join(dir, "opencode")).Sessions
}

// Shares is always true, because both places are in the folder of the program.
func (layout) Shares() bool { return true }
