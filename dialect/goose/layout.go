package goose

import (
	"path/filepath"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/rowlog"
)

// layout is the layout of all sessions in one database, which appears here as a folder of logs.
type layout struct{ rowlog.Names }

// driver is the name of the backend.Driver that shows sessions as logs.
const driver = "goose"

// database is the path below the data folder of the program.
var database = filepath.Join("sessions", "sessions.db")

// pathRoot is the variable that moves all folders of the program below another one.
const pathRoot = "GOOSE_PATH_ROOT"

// Roots returns the place that GOOSE_PATH_ROOT names, else the one in the data folder of the user.
func (l layout) Roots(env dialect.Env) []dialect.Root {
	data := rowlog.DataHome(env)
	usual := l.RootAt(filepath.Join(data, "goose"))
	if root := env.Getenv(pathRoot); filepath.IsAbs(root) {
		return []dialect.Root{l.RootAt(filepath.Join(root, "data")), usual}
	}
	return []dialect.Root{usual}
}

// RootAt returns the place in the data folder of the program.
func (layout) RootAt(dir string) dialect.Root {
	return dialect.Root{Sessions: filepath.Join(dir, database), Driver: driver}
}

// Place returns the path of the database in dir, as the program places it below XDG_DATA_HOME.
func (l layout) Place(dir string) string {
	switch base := filepath.Base(dir); {
	case filepath.Ext(base) == ".db":
		return dir
	case base == "sessions":
		return filepath.Join(dir, "sessions.db")
	case base == "goose":
		return l.RootAt(dir).Sessions
	}
	return l.RootAt(filepath.Join(dir, "goose")).Sessions
}
