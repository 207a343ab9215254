package codelia

import (
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/session"
)

// layout is a folder for each day, for all working directories.
type layout struct {
	// xdg: the program uses the user's state folder if CODELIA_LAYOUT says so.
	xdg bool
}

// Roots returns the folder in use, then the usual one, which may have old runs.
func (l layout) Roots(env dialect.Env) []dialect.Root {
	var roots []dialect.Root
	if l.xdg && env.Getenv("CODELIA_LAYOUT") == "xdg" {
		state := env.Getenv("XDG_STATE_HOME")
		if !filepath.IsAbs(state) { // a rule of the XDG specification
			state = filepath.Join(env.Home, ".local", "state")
		}
		roots = append(roots, l.RootAt(filepath.Join(state, "codelia")))
	}
	return append(roots, l.RootAt(filepath.Join(env.Home, ".codelia")))
}

// RootAt returns the place below codelia's folder.
func (l layout) RootAt(dir string) dialect.Root {
	return dialect.Root{Sessions: filepath.Join(dir, "sessions")}
}

// Dir is the same for every working directory.
func (l layout) Dir(dialect.Env, string) string { return "" }

// File is the folders of the day and the file name.
func (l layout) File(t time.Time, id session.ID) string {
	return t.UTC().Format("2006/01/02/") + string(id) + ".jsonl"
}

// Owns accepts the logs in the folders of days. The states of sessions are beside them.
func (l layout) Owns(name string) bool {
	owned, _ := path.Match("[0-9][0-9][0-9][0-9]/[0-9][0-9]/[0-9][0-9]/?*.jsonl", name)
	return owned
}

// RunName is made of the day in UTC on which the run began, and its id.
func (d *Dialect) RunName(h run.Header) (string, error) {
	// The id becomes a file name.
	if !isUUIDv4(h.RunID) {
		return "", fmt.Errorf("run id %.80q is not a UUID of version 4", h.RunID)
	}
	t, err := time.Parse(time.RFC3339Nano, h.StartedAt)
	if err != nil {
		return "", fmt.Errorf("started_at %.60q is not a time like 2026-02-03T12:34:56.789Z", h.StartedAt)
	}
	return d.Where.File(t, session.ID(h.RunID)), nil
}

// NewRunID makes a UUID of version 4.
func (d *Dialect) NewRunID(random io.Reader) (string, error) { return dialect.NewUUID(random) }

func isUUIDv4(id string) bool {
	return dialect.IsAnyUUID(id) && id[14] == '4' && strings.ContainsRune("89abAB", rune(id[19]))
}
