// Package files knows the files of Claude Code: the logs, the history of prompts, and the files of long outputs.
package files

import (
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// Layout is the program's layout: projects/<folder of the working directory>/<session id>.jsonl, and projects/<folder>/<session
// id>/subagents.
type Layout struct{}

var (
	_ dialect.Placer   = Layout{}
	_ dialect.Kin      = Layout{}
	_ dialect.Foldered = Layout{}
)

// Roots returns the folder of the program: CLAUDE_CONFIG_DIR, or .claude in the home directory.
func (l Layout) Roots(env dialect.Env) []dialect.Root {
	home := l.RootAt(filepath.Join(env.Home, ".claude"))
	if dir := env.Getenv("CLAUDE_CONFIG_DIR"); dir != "" {
		return []dialect.Root{l.RootAt(env.Abs(dir, false)), home}
	}
	return []dialect.Root{home}
}

// RootAt returns the place below the folder of the program.
func (Layout) RootAt(dir string) dialect.Root {
	return dialect.Root{Sessions: filepath.Join(dir, "projects")}
}

// Dir is the folder for the sessions of a working directory. Links are resolved first.
func (Layout) Dir(env dialect.Env, cwd string) string {
	if p, err := env.Realpath(cwd); err == nil {
		cwd = p
	}
	return folder(cwd)
}

// longest is the greatest length at which the name of a folder has the whole path.
const longest = 200

// folder makes the name of a folder: every UTF-16 unit that is not an ASCII letter or digit becomes "-". A long name is
// cut and gets a hash of the path. Two directories may share a folder.
func folder(cwd string) string {
	units := utf16.Encode([]rune(cwd))
	name, hash := make([]byte, len(units)), int32(0)
	for i, u := range units {
		hash = hash*31 + int32(u)
		name[i] = '-'
		if u < 0x80 && (u >= 'a' && u <= 'z' || u >= 'A' && u <= 'Z' || u >= '0' && u <= '9') {
			name[i] = byte(u)
		}
	}
	if len(name) <= longest {
		return string(name)
	}
	n := int64(hash)
	if n < 0 {
		n = -n
	}
	return string(name[:longest]) + "-" + strconv.FormatInt(n, 36)
}

// File is the id with the extension.
func (Layout) File(_ time.Time, id session.ID) string { return string(id) + ".jsonl" }

// Owns accepts the logs of sessions and those of their sub-agents.
func (Layout) Owns(name string) bool {
	if path.Ext(name) != ".jsonl" {
		return false
	}
	parts := strings.Split(name, "/")
	switch len(parts) {
	case 1, 2:
		return true
	case 4:
		return parts[2] == "subagents"
	}
	return false
}

// AgentPrefix is the prefix of the names of sub-agents' logs.
const AgentPrefix = "agent-"

// Named returns the id, which is the name of the file.
func (Layout) Named(name string) (session.ID, session.Time) {
	return session.ID(strings.TrimSuffix(path.Base(name), ".jsonl")), session.Time{}
}

// Main reports whether a log is not that of a sub-agent.
func (Layout) Main(name string) bool { return !strings.HasPrefix(path.Base(name), AgentPrefix) }

// Kin gives the log of a sub-agent its own id, and as its parent the session that its lines name. Any other log has the id in its
// file name: the program finds it by that name, and its lines may be copies from another session.
func (l Layout) Kin(name string, said session.ID) (session.ID, string) {
	id, _ := l.Named(name)
	if l.Main(name) {
		return id, ""
	}
	if dir := path.Dir(path.Dir(name)); path.Base(path.Dir(name)) == "subagents" {
		return id, path.Base(dir)
	}
	return id, string(said)
}

// Folder is the session's id. The folder "memory" belongs to no session: the program keeps its notes there.
func (l Layout) Folder(name string) string {
	name = path.Base(name)
	id, _ := l.Named(name)
	if !l.Main(name) || id == "memory" || dialect.CheckFileID(id) != nil {
		return ""
	}
	return string(id)
}

// WorkDir returns nothing, because the name of a folder cannot be reversed.
func (Layout) WorkDir(dialect.Env, string) (string, bool) { return "", false }

// DirBeside is Dir, because directories may share a folder.
func (l Layout) DirBeside(env dialect.Env, cwd string, _ func(string) []string) string {
	return l.Dir(env, cwd)
}
