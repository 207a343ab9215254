package index

import (
	"strings"

	"github.com/treeline-dev/treeline/session"
)

// Summary is what a catalogue knows of one session.
type Summary struct {
	// Session is false where the log is none: the other fields are then empty.
	Session bool
	ID      session.ID
	// Dialect is the name of the dialect that reads the log.
	Dialect string
	// CWD is the working directory that the log itself names.
	CWD string
	// Title is the name that somebody gave the session, or the short summary of its last compaction; Prompt is what the user
	// asked first, or the beginning of it.
	Title, Prompt string
	// Created and Active are when the session began and was last used, as the log spells it.
	Created, Active session.Time
	// Parent is the session that this one was forked from, as the log has it: an id or a path.
	Parent  string
	Version int
	// Messages and Entries count what the log holds, on all branches; Branches counts the entries without a child; Problems
	// what is wrong with it.
	Messages, Entries, Branches, Problems int
	// Models are those that answered, in the order in which they first did.
	Models []string
	// Tokens and Cost sum up what was recorded of all answers; Cost is in dollars.
	Tokens Tokens
	Cost   float64
	Has    Has
}

// Tokens count what answers took, as far as it was recorded.
type Tokens struct{ Input, Output, CacheRead, CacheWrite, Total int64 }

// Has says what occurs in a session.
type Has uint8

// What may occur.
const (
	HasLabel Has = 1 << iota
	HasBranch
	HasCompaction
	HasProblem
	HasBlob
)

var hasNames = []string{"label", "branch", "compaction", "problem", "blob"}

// ParseHas gives what a word means; ok is false for one that means nothing.
func ParseHas(word string) (h Has, ok bool) {
	for i, name := range hasNames {
		if name == word {
			return 1 << i, true
		}
	}
	return 0, false
}

// Names gives the words.
func (h Has) Names() []string {
	var list []string
	for i, name := range hasNames {
		if h&(1<<i) != 0 {
			list = append(list, name)
		}
	}
	return list
}

// String gives the words with commas between them.
func (h Has) String() string { return strings.Join(h.Names(), ",") }

// Stamp says what a log was when it was read. It is enough to tell without opening the log whether it changed.
type Stamp struct {
	// Generation is the backend's word for the content; see backend.Log.
	Generation string
	Size       int64
	// Nanos is when the log was last changed, in nanoseconds since 1970.
	Nanos int64
	// Racy is set where the log had been changed so shortly before it was read that one more change might not show in
	// its time: such a stamp proves nothing.
	Racy bool
}

// Same says whether the log is still the one that was read, as far as can be told from what a list of logs says of it. A
// list may give the beginning of a generation only.
func (s *Stamp) Same(generation string, size, nanos int64) bool {
	return !s.Racy && s.Size == size && s.Nanos == nanos && generation != "" && strings.HasPrefix(s.Generation, generation)
}
