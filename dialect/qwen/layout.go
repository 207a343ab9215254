package qwen

import (
	"path"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// layout is projects/<folder of the working directory>/chats/<session id>.jsonl, chats/archive for archived sessions, and
// projects/<folder>/subagents/<session id>/agent-<agent id>.jsonl.
type layout struct{}

var (
	_ dialect.Placer = layout{}
	_ dialect.Kin    = layout{}
)

// The folders of a project.
const (
	chats   = "chats"
	archive = "archive"
	agents  = "subagents"
)

// agentPrefix is the prefix of the names of sub-agents' logs.
const agentPrefix = "agent-"

// Roots returns the folders of the program: QWEN_RUNTIME_DIR, QWEN_HOME, and .qwen in the home directory.
func (l layout) Roots(env dialect.Env) (roots []dialect.Root) {
	for _, name := range [...]string{"QWEN_RUNTIME_DIR", "QWEN_HOME"} {
		if dir := env.Getenv(name); dir != "" {
			roots = append(roots, l.RootAt(env.Abs(dir, true)))
		}
	}
	return append(roots, l.RootAt(filepath.Join(env.Home, ".qwen")))
}

// RootAt returns the place below the folder of the program.
func (layout) RootAt(dir string) dialect.Root {
	return dialect.Root{Sessions: filepath.Join(dir, "projects")}
}

// Dir is the folder for the sessions of a working directory.
func (layout) Dir(_ dialect.Env, cwd string) string { return folder(cwd) + "/" + chats }

// folder makes the name of a folder: every UTF-16 unit that is not an ASCII letter or digit becomes "-". Two directories may
// share a folder.
func folder(cwd string) string {
	units := utf16.Encode([]rune(cwd))
	name := make([]byte, len(units))
	for i, u := range units {
		name[i] = '-'
		if u < 0x80 && (u >= 'a' && u <= 'z' || u >= 'A' && u <= 'Z' || u >= '0' && u <= '9') {
			name[i] = byte(u)
		}
	}
	return string(name)
}

// File is the id with the extension.
func (layout) File(_ time.Time, id session.ID) string { return string(id) + ".jsonl" }

// Owns accepts the logs of sessions and those of their sub-agents.
func (layout) Owns(name string) bool {
	if path.Ext(name) != ".jsonl" {
		return false
	}
	list := strings.Split(name, "/")
	switch n := len(list); {
	case n == 1, n >= 2 && list[n-2] == chats, n >= 3 && list[n-2] == archive && list[n-3] == chats:
		return true
	case n >= 3 && list[n-3] == agents:
		return strings.HasPrefix(list[n-1], agentPrefix)
	}
	return false
}

// Named returns the id, which is the name of the file.
func (layout) Named(name string) (session.ID, session.Time) {
	return session.ID(strings.TrimSuffix(path.Base(name), ".jsonl")), session.Time{}
}

// Main reports whether a log is not that of a sub-agent.
func (layout) Main(name string) bool { return !strings.HasPrefix(path.Base(name), agentPrefix) }

// Kin gives the log of a sub-agent its own id, and as its parent the session in whose folder it lies. Any other log has the id in its
// file name: the program finds it by that name.
func (l layout) Kin(name string, said session.ID) (session.ID, string) {
	id, _ := l.Named(name)
	if l.Main(name) {
		return id, ""
	}
	if dir := path.Dir(name); path.Base(path.Dir(dir)) == agents {
		return id, path.Base(dir)
	}
	return id, string(said)
}

// WorkDir returns nothing, because the name of a folder cannot be reversed.
func (layout) WorkDir(dialect.Env, string) (string, bool) { return "", false }

// DirBeside is Dir, because directories may share a folder.
func (l layout) DirBeside(env dialect.Env, cwd string, _ func(string) []string) string {
	return l.Dir(env, cwd)
}
