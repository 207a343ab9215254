package gemini

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// layout is tmp/<project>/chats/session-<minute>-<beginning of the id>.jsonl, and tmp/<project>/chats/<session>/<id>.jsonl for
// sub-agents.
type layout struct{}

var (
	_ dialect.Placer  = layout{}
	_ dialect.Kin     = layout{}
	_ dialect.Marked  = layout{}
	_ dialect.Doubler = layout{}
)

// chats is the folder of a project that holds its sessions.
const chats = "chats"

// Roots returns the folder of the program, .gemini in GEMINI_CLI_HOME or in the home directory.
func (l layout) Roots(env dialect.Env) []dialect.Root {
	home := l.RootAt(filepath.Join(env.Home, ".gemini"))
	if dir := env.Getenv("GEMINI_CLI_HOME"); dir != "" {
		return []dialect.Root{l.RootAt(filepath.Join(env.Abs(dir, false), ".gemini")), home}
	}
	return []dialect.Root{home}
}

// RootAt returns the place below the folder of the program.
func (layout) RootAt(dir string) dialect.Root {
	return dialect.Root{Sessions: filepath.Join(dir, "tmp")}
}

// Dir is the folder for the sessions of a working directory.
func (layout) Dir(_ dialect.Env, cwd string) string { return slug(cwd) + "/" + chats }

// slug is the name of a project's folder: the name of the directory, in lower case, with hyphens for all but letters and digits.
func slug(cwd string) string {
	base := path.Base(filepath.ToSlash(cwd))
	var b strings.Builder
	for _, r := range strings.ToLower(base) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
		} else if b.Len() > 0 && !strings.HasSuffix(b.String(), "-") {
			b.WriteByte('-')
		}
	}
	if s := strings.Trim(b.String(), "-"); s != "" {
		return s
	}
	return "project"
}

// File is the minute, in UTC, and the beginning of the id.
func (layout) File(t time.Time, id session.ID) string {
	return "session-" + t.UTC().Format("2006-01-02T15-04") + "-" + string(id[:min(len(id), 8)]) + ".jsonl"
}

// Owns accepts sessions, old documents and the logs of sub-agents.
func (layout) Owns(name string) bool {
	list := strings.Split(name, "/")
	ext := path.Ext(name)
	base := list[len(list)-1]
	isSession := strings.HasPrefix(base, "session-") && (ext == ".jsonl" || ext == ".json")
	switch n := len(list); {
	case n >= 2 && list[n-2] == chats, n == 1:
		return isSession
	case n >= 3 && list[n-3] == chats:
		return ext == ".jsonl"
	}
	return false
}

// Named returns when the session began. A name has only the beginning of the id.
func (layout) Named(name string) (session.ID, session.Time) {
	base := strings.TrimSuffix(path.Base(name), path.Ext(name))
	minute, ok := strings.CutPrefix(base, "session-")
	if !ok {
		return session.ID(base), session.Time{}
	}
	const form = "2006-01-02T15-04"
	at, err := time.Parse(form, minute[:min(len(minute), len(form))])
	if err != nil {
		return "", session.Time{}
	}
	return "", session.TimeOf(at)
}

// Main reports whether a log is not that of a sub-agent, which lies in a folder of its session.
func (layout) Main(name string) bool {
	dir := path.Dir(name)
	return strings.HasPrefix(path.Base(name), "session-") || path.Base(path.Dir(dir)) != chats
}

// Kin gives a sub-agent's log the session in whose folder it lies.
func (l layout) Kin(name string, said session.ID) (session.ID, string) {
	if l.Main(name) {
		return said, ""
	}
	return said, path.Base(path.Dir(name))
}

// WorkDir returns nothing, because the name of a folder cannot be reversed.
func (layout) WorkDir(dialect.Env, string) (string, bool) { return "", false }

// DirBeside is the folder that the program has for the directory, or Dir with the first number that no other directory uses.
func (l layout) DirBeside(env dialect.Env, cwd string, owners func(string) []string) string {
	name, free := slug(cwd), ""
	for n := range numbers {
		dir := name + "/" + chats
		if n > 0 {
			dir = name + "-" + strconv.Itoa(n) + "/" + chats
		}
		list := owners(dir)
		if slices.ContainsFunc(list, func(owner string) bool { return filepath.Clean(owner) == filepath.Clean(cwd) }) {
			return dir
		}
		if free == "" && len(list) == 0 {
			free = dir
		}
	}
	return cmp.Or(free, l.Dir(env, cwd))
}

// numbers is how many folders with the same name are looked at.
const numbers = 32

// Mark is the file in a project's folder that names the working directory.
func (layout) Mark(log string) string {
	for dir := path.Dir(log); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if path.Base(dir) == chats {
			return path.Dir(dir) + "/.project_root"
		}
	}
	return ""
}

// Doubles is always true: when the program resumes a session, it leaves a file that has only a header and context, and it copies
// sessions of old versions to new files.
func (layout) Doubles() bool { return true }

// parentMember is a member of the header that only treeline uses: the session that this one was forked from.
const parentMember = "treelineParent"

// cwdOf returns the working directory in a header: the one of its directories whose hash is that of the project.
func cwdOf(header []byte) string {
	hash := rawjson.Str(header, "projectHash")
	for dir := range rawjson.Elements(rawjson.Get(header, "directories")) {
		if s, ok := rawjson.Unquote(dir); ok && hashOf(s) == hash {
			return s
		}
	}
	return ""
}

// hashOf is the program's hash of a working directory.
func hashOf(cwd string) string {
	sum := sha256.Sum256([]byte(cwd))
	return hex.EncodeToString(sum[:])
}
