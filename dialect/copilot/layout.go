package copilot

import (
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// layout is session-state/<session id>/events.jsonl, the same for every working directory.
type layout struct{}

var (
	_ dialect.Placer   = layout{}
	_ dialect.Foldered = layout{}
)

// logName is the name of every log.
const logName = "events.jsonl"

// Roots returns the folders of the program: COPILOT_HOME, and .copilot in the home directory.
func (l layout) Roots(env dialect.Env) []dialect.Root {
	home := l.RootAt(filepath.Join(env.Home, ".copilot"))
	if dir := env.Getenv("COPILOT_HOME"); dir != "" {
		return []dialect.Root{l.RootAt(env.Abs(dir, false)), home}
	}
	return []dialect.Root{home}
}

// RootAt returns the place below the folder of the program.
func (layout) RootAt(dir string) dialect.Root {
	return dialect.Root{Sessions: filepath.Join(dir, "session-state")}
}

// Dir is the same for every working directory; the name of a log includes the folder of its session.
func (layout) Dir(dialect.Env, string) string { return "" }

// File is the folder of the session and the name that every log has.
func (layout) File(_ time.Time, id session.ID) string { return string(id) + "/" + logName }

// Owns accepts the logs in the folders of sessions.
func (layout) Owns(name string) bool {
	return path.Base(name) == logName && strings.Contains(name, "/")
}

// Named returns the id, which is the name of the folder.
func (layout) Named(name string) (session.ID, session.Time) {
	if dir := path.Base(path.Dir(name)); dir != "." && dir != "/" {
		return session.ID(dir), session.Time{}
	}
	return "", session.Time{}
}

// Main is always true, because the events of sub-agents are in the log of their session.
func (layout) Main(string) bool { return true }

// WorkDir returns nothing, because folders stand for sessions.
func (layout) WorkDir(dialect.Env, string) (string, bool) { return "", false }

// DirBeside is Dir.
func (l layout) DirBeside(env dialect.Env, cwd string, _ func(string) []string) string {
	return l.Dir(env, cwd)
}

// Folder is the folder that the log is in, which has the name of the session.
func (layout) Folder(name string) string {
	if path.Base(name) == logName && dialect.IsAnyUUID(path.Base(path.Dir(name))) {
		return "."
	}
	return ""
}
