package operator

import (
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// layout is flat: the sessions of all working directories are in one folder, and each profile has one.
type layout struct {
	// profile is the one that new sessions go to; "" is the folder beside the profiles.
	profile string
	// order is that of lists: the program uses the last message, the document the last change of the file.
	order dialect.Order
}

// Order says how lists are ordered.
func (l layout) Order() dialect.Order { return l.order }

const base = ".operator"

// Roots gives the folder for new sessions, then the one beside the profiles and those of all profiles. Profiles have names
// of the user's choice, so their folder is listed.
func (l layout) Roots(env dialect.Env) []dialect.Root {
	dir := filepath.Join(env.Home, base)
	profiles := filepath.Join(dir, "profiles")
	var roots []dialect.Root
	if l.profile != "" {
		roots = append(roots, l.RootAt(filepath.Join(profiles, l.profile)))
	}
	roots = append(roots, l.RootAt(dir))
	if env.Folders == nil {
		return roots
	}
	names, err := env.Folders(profiles)
	if err != nil {
		return roots // there are no profiles
	}
	for _, name := range names {
		if name != l.profile {
			roots = append(roots, l.RootAt(filepath.Join(profiles, name)))
		}
	}
	return roots
}

// RootAt gives the place below a profile's folder.
func (l layout) RootAt(dir string) dialect.Root {
	return dialect.Root{Sessions: filepath.Join(dir, "sessions")}
}

// Dir is the same for every working directory.
func (l layout) Dir(dialect.Env, string) string { return "" }

// File is the local time to the microsecond, and the id.
func (l layout) File(t time.Time, id session.ID) string {
	return strings.Replace(t.Format("2006-01-02T15-04-05.000000"), ".", "-", 1) + "_" + string(id) + ".jsonl"
}

// Owns accepts the text logs in the folder itself.
func (l layout) Owns(name string) bool {
	return path.Ext(name) == ".jsonl" && !strings.Contains(name, "/")
}
