package dialect

import (
	"time"

	"github.com/treeline-dev/treeline/session"
)

// Optional interfaces of a Layout, for agents whose names of folders and files mean something.

// Placer is a Layout of logs that do not say all about themselves: the rest is in their names.
type Placer interface {
	// Named gives what the name of a log (relative to Root.Sessions, or its last part) says: the session's id, and when
	// it began, as far as the name has it.
	Named(name string) (id session.ID, created session.Time)
	// Main says whether a log of that name is a session that people go on with, rather than a subagent's.
	Main(name string) bool
	// WorkDir gives the working directory that a folder, relative to Root.Sessions, can only be of; "" where that is
	// not certain, and several where more than one may be meant. It counts where no log in the folder says it.
	WorkDir(env Env, dir string) (cwd string, several bool)
	// DirBeside is Dir for a new session. owners gives the working directories that the logs in a folder name.
	DirBeside(env Env, cwd string, owners func(dir string) []string) string
}

// Orderer is a Layout of an agent that orders its sessions by something else than the time of a log's last change.
type Orderer interface {
	Order() Order
}

// Order is how a list is ordered, the newest first.
type Order string

// What decides which session is newer.
const (
	OrderChanged Order = ""       // when the log was last written
	OrderActive  Order = "active" // the time of the last message
	OrderNames   Order = "names"  // when the session began, as its name says: no log is opened
)

// Sharer is a Layout of a value that keeps its logs below the same folder as another value. Where Shares says so, Owns
// decides whose a log is.
type Sharer interface{ Shares() bool }

// Ruler is a Dialect with rules for a session as a whole, beyond those for its records.
type Ruler interface {
	// Check gives what is wrong with a session. log is its log.
	Check(t *session.Tree, log LogInfo) []session.Problem
}

// LogInfo is what a Ruler may want to know of a log besides its records.
type LogInfo struct {
	Name    string // the file's path
	Size    int64
	Changed time.Time
}

// Housed is a Layout whose logs cannot lie in just any folder.
type Housed interface {
	// Place gives the folder for logs that somebody wants to have in dir, which is absolute.
	Place(dir string) string
}
