package rowlog

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// Names is the part of a Layout for sessions that are all in one database, named by their ids.
type Names struct{}

// Dir is the same for every working directory.
func (Names) Dir(dialect.Env, string) string { return "" }

// File is the id with the extension.
func (Names) File(_ time.Time, id session.ID) string { return string(id) + ".jsonl" }

// Owns accepts every session.
func (Names) Owns(name string) bool {
	return strings.HasSuffix(name, ".jsonl") && !strings.ContainsAny(name, "/") && !strings.HasPrefix(name, ".")
}

// DataHome is the user's folder in which programs keep their data.
func DataHome(env dialect.Env) string {
	if data := env.Getenv("XDG_DATA_HOME"); filepath.IsAbs(data) {
		return data
	}
	return filepath.Join(env.Home, ".local", "share")
}
