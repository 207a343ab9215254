package pi

import (
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// layout is where one program of the family keeps its sessions.
// The values differ in these members only.
type layout struct {
	base   string // folder in the home directory
	env    string // variable that names the agent's folder instead
	rule   func(env dialect.Env, cwd string) string
	blobs  bool
	crumbs bool
}

// Roots gives the agent's folder: the one that the environment names, or the one in the home directory.
// One and not both: a program that is told another folder does not look into its own.
func (l *layout) Roots(env dialect.Env) []dialect.Root {
	if dir := env.Getenv(l.env); dir != "" {
		return []dialect.Root{l.RootAt(resolvePath(env, expandHome(env, dir)))}
	}
	return []dialect.Root{l.RootAt(filepath.Join(env.Home, l.base, "agent"))}
}

// RootAt gives the places below an agent's folder.
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

// File is the time, with what a file name cannot hold replaced, and the id.
// The programs replace the same two characters; the time sorts as text.
func (l *layout) File(t time.Time, id session.ID) string {
	stamp := strings.NewReplacer(":", "-", ".", "-").Replace(t.UTC().Format("2006-01-02T15:04:05.000Z"))
	return stamp + "_" + string(id) + ".jsonl"
}

// Owns takes every text log below the sessions' folder: subagents' logs lie in folders of their own.
func (l *layout) Owns(name string) bool { return path.Ext(name) == ".jsonl" }

// resolvePath makes a path absolute and clean, as path.resolve does.
func resolvePath(env dialect.Env, cwd string) string {
	if !filepath.IsAbs(cwd) {
		cwd = filepath.Join(env.WorkDir, cwd)
	}
	return filepath.Clean(cwd)
}

var dashes = strings.NewReplacer("/", "-", `\`, "-", ":", "-")

// absolute encodes a whole path: one leading separator goes, the others become dashes.
func absolute(p string) string {
	if p != "" && (p[0] == '/' || p[0] == '\\') {
		p = p[1:]
	}
	return "--" + dashes.Replace(p) + "--"
}

// expandHome puts the home directory in the place of a leading "~".
func expandHome(env dialect.Env, p string) string {
	if rest, ok := strings.CutPrefix(p, "~"); ok && (rest == "" || rest[0] == '/') {
		return filepath.Join(env.Home, rest)
	}
	return p
}

// dirPi is pi's rule. It expands "~".
func dirPi(env dialect.Env, cwd string) string {
	return absolute(resolvePath(env, expandHome(env, cwd)))
}

// dirOmp is omp's rule: links resolved, short names below the home and the temporary folder.
// Only omp resolves links, so one project that is reached by two names has one folder in omp and two in pi. Home
// goes before the temporary folder, which may lie in it.
func dirOmp(env dialect.Env, cwd string) string {
	real := func(p string) string {
		p = resolvePath(env, p)
		if r, err := env.Realpath(p); err == nil {
			return r
		}
		return p
	}
	p := real(cwd)
	if rel, ok := inside(real(env.Home), p); ok {
		return "-" + dashes.Replace(rel)
	}
	if rel, ok := inside(real(env.TempDir), p); ok {
		if rel == "" {
			return "-tmp"
		}
		return "-tmp-" + dashes.Replace(rel)
	}
	return absolute(p)
}

// dirDoc is the rule of the format's document.
func dirDoc(env dialect.Env, cwd string) string { return absolute(resolvePath(env, cwd)) }

// inside gives the path of p relative to dir where it lies there.
// A folder called "..x" is inside, so ".." alone or with a separator is what is outside.
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
