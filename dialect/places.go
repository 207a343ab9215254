package dialect

import (
	"path"
	"time"

	"github.com/treeline-dev/treeline/session"
)

// Placer is a Layout in which names of folders and logs say things that the logs themselves do not.
type Placer interface {
	// Named gives the session's id and when it began, as far as the name of a log says them. The name is relative to
	// Root.Sessions, or only its last element.
	Named(name string) (id session.ID, created session.Time)
	// Main reports whether a log of that name is a session that the user continues, and not that of a subagent.
	Main(name string) bool
	// WorkDir gives the only working directory that a folder, relative to Root.Sessions, can stand for; "" if that is
	// uncertain. several reports whether more than one directory fits. The result counts if no log in the folder names one.
	WorkDir(env Env, dir string) (cwd string, several bool)
	// DirBeside is Dir for a new session. owners gives the working directories that the logs in a folder name.
	DirBeside(env Env, cwd string, owners func(dir string) []string) string
}

// Kin is a Layout in which the records of several logs may name the same session: those of its sub-agents, or later
// versions of it. The names of the logs tell them apart.
type Kin interface {
	// Kin gives the id of a log in lists, and the session that it belongs to; parent is "" if the records name it. The name is relative
	// to Root.Sessions, said is the id in the records.
	Kin(name string, said session.ID) (id session.ID, parent string)
}

// Marked is a Layout of an agent whose logs do not name their working directory: a file near them does.
type Marked interface {
	// Mark gives the path of that file for the log at a path, "" if there is none. Its content is the directory; white space
	// around it is ignored.
	Mark(log string) string
}

// Doubler is a Layout of an agent that may leave several logs of one session. The program continues the one that was active
// last, preferring logs with a prompt. Lists show that one.
type Doubler interface{ Doubles() bool }

// Later reports whether a program continues the log of s rather than that of o. Both are logs of one session; see Doubler.
func (s *Summary) Later(o *Summary) bool {
	if (s.Prompt == "") != (o.Prompt == "") {
		return s.Prompt != ""
	}
	a, _ := s.Active.Time()
	b, _ := o.Active.Time()
	return !a.Before(b)
}

// Foldered is a Layout of an agent that keeps files of a session, such as long outputs and logs of sub-agents, in a folder beside its
// log. The folder belongs to the session: it is moved and removed with the log.
type Foldered interface {
	// Folder gives the folder of a log, relative to the folder that the log is in: "." is that folder itself, "" means that the log has
	// no folder. name is the log's file name, preceded by the name of its folder and a slash if that is known.
	Folder(name string) string
}

// Orderer is a Layout of an agent that does not order its sessions by the time of a log's last change.
type Orderer interface {
	Order() Order
}

// Order is how a list is ordered, the newest first.
type Order string

// The times that a list can be ordered by.
const (
	OrderChanged Order = ""       // when the log was last written
	OrderActive  Order = "active" // the time of the last message
	OrderNames   Order = "names"  // when the session began, as its name says, so that no log is opened
)

// Sharer is a Layout of a value that may keep its logs below the same folder as another value. If Shares is true, Owns
// decides which value a log belongs to.
type Sharer interface{ Shares() bool }

// Historian is a Layout of an agent that keeps the user's prompts in a separate file, one prompt per line.
type Historian interface {
	// HistoryFile names the file, relative to the folder that holds Root.Sessions.
	HistoryFile() string
	// ReadTyped parses a line, which may be damaged; ok is false if it is not a prompt.
	ReadTyped(line []byte) (t Typed, ok bool)
}

// Typed is a prompt of such a file. A value that the file lacks is zero.
type Typed struct {
	Text    string
	CWD     string
	Session session.ID
	At      time.Time
}

// Housed is a Layout whose logs must lie in folders of a certain form.
type Housed interface {
	// Place gives the folder for logs that the caller wants in dir, which is absolute.
	Place(dir string) string
}

// Owner is the name of the log in whose folder a log lies; "" for none. See Foldered.
func Owner(l Layout, name string) string {
	f, ok := l.(Foldered)
	if !ok {
		return ""
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if log := dir + ".jsonl"; f.Folder(path.Base(log)) == path.Base(dir) && l.Owns(log) {
			return log
		}
	}
	return ""
}
