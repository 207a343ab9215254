package pi

import (
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// layout says where one program of the family keeps its sessions.
type layout struct {
	base   string // folder in the home directory
	env    string // variable that names another folder
	rule   func(env dialect.Env, cwd string) string
	also   []func(env dialect.Env, cwd string) string // rules of other values for the same folder
	blobs  bool
	crumbs bool
}

// Roots returns the agent's folder: the one that the environment names, or else the one in the home directory. The program
// does not look into both.
func (l *layout) Roots(env dialect.Env) []dialect.Root {
	if dir := env.Getenv(l.env); dir != "" {
		return []dialect.Root{l.RootAt(env.Abs(dir, true))}
	}
	return []dialect.Root{l.RootAt(filepath.Join(env.Home, l.base, "agent"))}
}

// RootAt returns the places below an agent's folder.
func (l *layout) RootAt(dir string) dialect.Root {
	r := dialect.Root{Sessions: filepath.Join(dir, "sessions")}
	if l.blobs {
		r.Blobs = filepath.Join(dir, "blobs")
	}
	if l.crumbs {
		r.Breadcrumbs = filepath.Join(dir, "terminal-sessions")
	}
	return r
}

// Dir is the folder for the sessions of a working directory.
func (l *layout) Dir(env dialect.Env, cwd string) string { return l.rule(env, cwd) }

// OtherDirs implements dialect.Elsewhere: the program and the format's document name folders differently.
func (l *layout) OtherDirs(env dialect.Env, cwd string) (dirs []string) {
	for _, rule := range l.also {
		dirs = append(dirs, rule(env, cwd))
	}
	return dirs
}

// File is the time, in which two characters that a file name cannot hold are replaced, and the id.
func (l *layout) File(t time.Time, id session.ID) string {
	stamp := strings.NewReplacer(":", "-", ".", "-").Replace(t.UTC().Format("2006-01-02T15:04:05.000Z"))
	return stamp + "_" + string(id) + ".jsonl"
}

// Owns accepts every log below the folder of sessions, because logs of subagents are in folders below it.
func (l *layout) Owns(name string) bool { return path.Ext(name) == ".jsonl" }

// The rules of the program and of the document. Each of the two looks for the other's folders besides its own.
var (
	ompRules = []func(dialect.Env, string) string{dirOmp, dirDocReal}
	docRules = []func(dialect.Env, string) string{dirDoc, dirDocReal}
)

var dashes = strings.NewReplacer("/", "-", `\`, "-", ":", "-")

// absolute encodes a whole path: one leading separator is removed, the others become dashes.
func absolute(p string) string {
	if p != "" && (p[0] == '/' || p[0] == '\\') {
		p = p[1:]
	}
	return "--" + dashes.Replace(p) + "--"
}

// dirPi is pi's rule: it expands "~".
func dirPi(env dialect.Env, cwd string) string {
	return absolute(env.Abs(cwd, true))
}

// dirOmp is omp's rule: it resolves links and gives short names below the home and the temporary folder. Home comes first,
// because the temporary folder may be in it.
func dirOmp(env dialect.Env, cwd string) string {
	p := resolved(env, cwd)
	if rel, ok := inside(resolved(env, env.Home), p); ok {
		return "-" + dashes.Replace(rel)
	}
	if rel, ok := inside(resolved(env, env.TempDir), p); ok {
		if rel == "" {
			return "-tmp"
		}
		return "-tmp-" + dashes.Replace(rel)
	}
	return absolute(p)
}

// dirDoc is the rule of the format's document.
func dirDoc(env dialect.Env, cwd string) string { return absolute(env.Abs(cwd, false)) }

// dirDocReal is the rule of the format's document for a path without links.
func dirDocReal(env dialect.Env, cwd string) string { return absolute(resolved(env, cwd)) }

// resolved returns a path without links, or the absolute path if it does not exist.
func resolved(env dialect.Env, p string) string {
	p = env.Abs(p, false)
	if r, err := env.Realpath(p); err == nil {
		return r
	}
	return p
}

// inside returns the path of p relative to dir if p is in it. A folder named "..x" is inside.
func inside(dir, p string) (string, bool) {
	rel, err := filepath.Rel(dir, p)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	if rel == "." {
		return "", true
	}
	return rel, true
}
