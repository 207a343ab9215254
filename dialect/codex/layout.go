package codex

import (
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// layout is sessions/YYYY/MM/DD/rollout-<time>-<thread>[_<rollout>].jsonl, the same for every working directory.
type layout struct{}

var (
	_ dialect.Placer = layout{}
	_ dialect.Kin    = layout{}
)

// Roots returns the folders of the program, in CODEX_HOME or in .codex of the home directory: the one of sessions and the one of
// archived sessions.
func (l layout) Roots(env dialect.Env) []dialect.Root {
	dirs := []string{filepath.Join(env.Home, ".codex")}
	if dir := env.Getenv("CODEX_HOME"); dir != "" {
		dirs = []string{env.Abs(dir, false), dirs[0]}
	}
	var roots []dialect.Root
	for _, dir := range dirs {
		roots = append(roots, l.RootAt(dir), dialect.Root{Sessions: filepath.Join(dir, archive)})
	}
	return roots
}

// RootAt returns the place below the folder of the program.
func (layout) RootAt(dir string) dialect.Root {
	return dialect.Root{Sessions: filepath.Join(dir, "sessions")}
}

// Dir is the same for every working directory; the day is in the name of the file.
func (layout) Dir(dialect.Env, string) string { return "" }

// File is the folders of the day and the file name.
func (layout) File(t time.Time, id session.ID) string {
	return t.Format("2006/01/02/") + "rollout-" + t.Format("2006-01-02T15-04-05") + "-" + string(id) + ".jsonl"
}

// Owns accepts rollouts in any folder. The program compresses those that were not used for a week.
func (layout) Owns(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(base, "rollout-") && (strings.HasSuffix(base, endings[0]) || strings.HasSuffix(base, endings[1]))
}

// idLength is the length of a UUID.
const idLength = 36

// Named returns the id of the thread and the time, which is local time.
func (layout) Named(name string) (session.ID, session.Time) {
	base, _, _ := strings.Cut(strings.TrimPrefix(path.Base(name), "rollout-"), ".jsonl")
	if len(base) < len("2006-01-02T15-04-05-")+idLength {
		return "", session.Time{}
	}
	return session.ID(base[20 : 20+idLength]), session.Time{}
}

// Main is always true: only the headers tell sub-agents apart.
func (layout) Main(string) bool { return true }

// Kin gives a rollout that replaces another one of its thread the second id in its name. Its header has the other id.
func (layout) Kin(name string, said session.ID) (session.ID, string) {
	base, _, _ := strings.Cut(path.Base(name), ".jsonl")
	if _, id, ok := strings.Cut(base, "_"); ok && len(id) == idLength {
		return session.ID(id), ""
	}
	return said, ""
}

// WorkDir returns nothing, because folders stand for days.
func (layout) WorkDir(dialect.Env, string) (string, bool) { return "", false }

// DirBeside is Dir.
func (l layout) DirBeside(env dialect.Env, cwd string, _ func(string) []string) string {
	return l.Dir(env, cwd)
}
