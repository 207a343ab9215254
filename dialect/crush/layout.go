package crush

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// layout: the sessions of all projects that the registry of the program names. It is a folder here, with a folder for each project.
type layout struct{}

const (
	// driver is the name of the backend.Driver that shows sessions as logs.
	driver = "crush"
	// dataFolder is the folder with the database of a project.
	dataFolder = ".crush"
	database   = "crush.db"
)

// Roots gives the folder of the registry.
func (l layout) Roots(env dialect.Env) []dialect.Root {
	for _, name := range []string{"CRUSH_GLOBAL_DATA", "XDG_DATA_HOME"} {
		if data := env.Getenv(name); filepath.IsAbs(data) {
			return []dialect.Root{l.RootAt(filepath.Join(data, "crush"))}
		}
	}
	return []dialect.Root{l.RootAt(filepath.Join(env.Home, ".local", "share", "crush"))}
}

// RootAt gives the place in the folder of the registry.
func (layout) RootAt(dir string) dialect.Root {
	return dialect.Root{Sessions: filepath.Clean(dir), Driver: driver}
}

// Place: in a folder of the caller the registry is placed as with XDG_DATA_HOME.
func (l layout) Place(dir string) string {
	switch base := filepath.Base(dir); {
	case filepath.Ext(base) == ".db" || base == "crush":
		return dir
	case base == dataFolder:
		return filepath.Join(dir, database)
	}
	return filepath.Join(dir, "crush")
}

// oneName spells the path of a directory so that it is one name. The driver reads it.
var oneName = strings.NewReplacer("%", "%25", "/", "%2F", `\`, "%5C", ":", "%3A")

// Dir is the project that a working directory belongs to: the nearest one with a folder of the program, or the directory itself.
// Its path is spelled so that it is one name.
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

// File is the id.
func (layout) File(_ time.Time, id session.ID) string { return string(id) + ".jsonl" }

// Owns accepts every session of a project, and those of a database that was named.
func (layout) Owns(name string) bool {
	return strings.HasSuffix(name, ".jsonl") && strings.Count(name, "/") <= 1 && !strings.HasPrefix(name, ".")
}
