package crush

import (
	"path/filepath"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/rowlog"
)

// layout is the layout of the sessions of all projects in the program's registry. It appears here as a folder, with a folder for each
// project.
type layout struct{ rowlog.Names }

const (
	// driver is the name of the backend.Driver that shows sessions as logs.
	driver = "crush"
	// dataFolder is the folder with the database of a project.
	dataFolder = ".crush"
	database   = "crush.db"
)

// Roots returns the folder of the registry.
func (l layout) Roots(env dialect.Env) []dialect.Root {
	data := env.Getenv("CRUSH_GLOBAL_DATA")
	if !filepath.IsAbs(data) {
		data = rowlog.DataHome(env)
	}
	return []dialect.Root{l.RootAt(filepath.Join(data, "crush"))}
}

// RootAt returns the place in the folder of the registry.
func (layout) RootAt(dir string) dialect.Root {
	return dialect.Root{Sessions: filepath.Clean(dir), Driver: driver}
}

// Place returns the path of the registry in dir, as the program places it below XDG_DATA_HOME.
func (l layout) Place(dir string) string {
	switch base := filepath.Base(dir); {
	case filepath.Ext(base) == ".db" || base == "crush":
		return dir
	case base == dataFolder:
		return filepath.Join(dir, database)
	}
	return filepath.Join(dir, "crush")
}

// oneName escapes the path of a directory so that it is a single name. The driver undoes that.
var oneName = strings.NewReplacer("%", "%25", "/", "%2F", `\`, "%5C", ":", "%3A")

// Dir is the project that a working directory belongs to: the nearest one with a folder of the program, or the directory itself.
// Its path is escaped so that it is a single name.
func (layout) Dir(env dialect.Env, cwd string) string {
	for dir := cwd; env.Access != nil; dir = filepath.Dir(dir) {
		if exists, _, _ := env.Access(filepath.Join(dir, dataFolder, database)); exists {
			return oneName.Replace(dir)
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return oneName.Replace(cwd)
}

// Owns accepts every session of a project, and those of a database that was named directly.
func (layout) Owns(name string) bool {
	return strings.HasSuffix(name, ".jsonl") && strings.Count(name, "/") <= 1 && !strings.HasPrefix(name, ".")
}
