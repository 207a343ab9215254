package wave

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// layout says where the sessions of one value are. Both values have the same root and name its folders differently.
type layout struct {
	// rule makes the name of a project's folder from a resolved path.
	rule func(resolved string) string
	// document: folders and ids follow the document's rules.
	document bool
	order    dialect.Order
}

var (
	_ dialect.Placer  = layout{}
	_ dialect.Orderer = layout{}
	_ dialect.Sharer  = layout{}
)

// Roots returns the folder in the home directory. Wave has no other.
func (l layout) Roots(env dialect.Env) []dialect.Root {
	return []dialect.Root{l.RootAt(filepath.Join(env.Home, ".wave"))}
}

// RootAt returns the place below Wave's folder.
func (l layout) RootAt(dir string) dialect.Root {
	return dialect.Root{Sessions: filepath.Join(dir, "projects")}
}

// Dir is the folder for the sessions of a working directory. Links are resolved first, as in the program.
func (l layout) Dir(env dialect.Env, cwd string) string { return l.rule(resolve(env, cwd)) }

// DirBeside is Dir, unless another directory has that folder. By the document's rule the second directory then gets its hash after the
// name. In the program they share a folder.
func (l layout) DirBeside(env dialect.Env, cwd string, owners func(dir string) []string) string {
	resolved := resolve(env, cwd)
	plain := l.rule(resolved)
	if !l.document {
		return plain
	}
	others := owners(plain)
	if len(others) == 0 || slices.ContainsFunc(others, func(o string) bool { return resolve(env, o) == resolved }) {
		return plain
	}
	return hashed(plain, resolved)
}

// File is the id with the extension. The id is not in the log: a log that is renamed becomes another session.
func (l layout) File(_ time.Time, id session.ID) string { return string(id) + ".jsonl" }

// Shares is always true, because the folders of both rules are side by side.
func (l layout) Shares() bool { return true }

// Owns tells the folders of the two rules apart. A folder with a leading hyphen is the document's, unless the document does not allow the
// id of the file in it: by the program's rule "/-x" has such a name.
func (l layout) Owns(name string) bool {
	if path.Ext(name) != ".jsonl" {
		return false
	}
	u, err := ParseUUID(string(fileID(name)))
	isDocument := strings.HasPrefix(name, "-") && strings.Count(name, "/") == 1 && (err != nil || u.Version() == 6)
	return isDocument == l.document
}

// fileID is the id in the name of a log.
func fileID(name string) session.ID {
	base := strings.TrimSuffix(path.Base(name), ".jsonl")
	return session.ID(strings.TrimPrefix(base, subagent))
}

// subagent is the prefix of the names of subagents' logs.
const subagent = "subagent-"

// Named returns the id and, if it is of version 6, when the session began.
func (l layout) Named(name string) (id session.ID, created session.Time) {
	id = fileID(name)
	if u, err := ParseUUID(string(id)); err == nil {
		if t, ok := u.Time(); ok {
			created = session.TimeOf(t)
		}
	}
	return id, created
}

// Order says how lists are ordered.
func (l layout) Order() dialect.Order { return l.order }

// Main reports whether the name of a log is not that of a subagent's.
func (l layout) Main(name string) bool { return !strings.HasPrefix(path.Base(name), subagent) }

// WorkDir returns the only existing directory that a folder can stand for, "" if there is not exactly one. It never
// guesses.
func (l layout) WorkDir(env dialect.Env, dir string) (cwd string, several bool) {
	if strings.Contains(dir, "/") {
		return "", false
	}
	return l.existing(env, dir)
}
