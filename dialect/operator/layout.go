package operator

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// layout is flat: the sessions of all working directories are in one folder, and each profile has such a folder.
type layout struct {
	// profile is the profile of new sessions; "" is the folder beside the profiles.
	profile string
	// order is the order of lists: the program uses the time of the last message, the document the last change of the file.
	order dialect.Order
}

// Order says how lists are ordered.
func (l layout) Order() dialect.Order { return l.order }

const base = ".operator"

// profileVariable names the profile in use.
const profileVariable = "OPERATOR_PROFILE"

// Roots returns the folder for new sessions, then the one beside the profiles and those of all profiles. Profiles have names
// of the user's choice, so their folder is listed.
func (l layout) Roots(env dialect.Env) []dialect.Root {
	dir := filepath.Join(env.Home, base)
	var roots []dialect.Root
	add := func(r dialect.Root) {
		if !slices.Contains(roots, r) {
			roots = append(roots, r)
		}
	}
	if r, err := l.Profile(env, ""); err == nil { // otherwise creating or continuing a session reports what is wrong
		add(r)
	}
	if l.profile != "" {
		add(l.RootAt(filepath.Join(dir, "profiles", l.profile)))
	}
	add(l.RootAt(dir))
	if env.Folders == nil {
		return roots
	}
	names, err := env.Folders(filepath.Join(dir, "profiles"))
	if err != nil {
		return roots // there are no profiles
	}
	for _, name := range names {
		add(l.RootAt(filepath.Join(dir, "profiles", name)))
	}
	return roots
}

// Profile returns the place of a profile; "" is the one that the environment names, or else the value's own.
func (l layout) Profile(env dialect.Env, name string) (dialect.Root, error) {
	dir, from := filepath.Join(env.Home, base), ""
	if name == "" {
		if name = env.Getenv(profileVariable); name != "" {
			from = "$" + profileVariable + ": "
		}
	}
	if name = cmp.Or(name, l.profile); name == "" {
		return l.RootAt(dir), nil
	}
	// The name becomes the name of a folder.
	if strings.HasPrefix(name, ".") || strings.ContainsAny(name, "/\\:\x00") || len(name) > 128 {
		return dialect.Root{}, fmt.Errorf("%s%.80q is %w: it cannot begin with a dot or have '/', '\\' or ':'", from, name, dialect.ErrProfile)
	}
	return l.RootAt(filepath.Join(dir, "profiles", name)), nil
}

// RootAt returns the place below a profile's folder.
func (l layout) RootAt(dir string) dialect.Root {
	return dialect.Root{Sessions: filepath.Join(dir, "sessions")}
}

// Dir is the same for every working directory.
func (l layout) Dir(dialect.Env, string) string { return "" }

// File is the local time to the microsecond, and the id.
func (l layout) File(t time.Time, id session.ID) string {
	return strings.Replace(t.Format("2006-01-02T15-04-05.000000"), ".", "-", 1) + "_" + string(id) + ".jsonl"
}

// Owns accepts the logs directly in the folder.
func (l layout) Owns(name string) bool {
	return path.Ext(name) == ".jsonl" && !strings.Contains(name, "/")
}
