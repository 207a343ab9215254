package index

import (
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/session"
)

// Summary is what a catalogue knows of one session.
type Summary struct {
	// Session is false if the log is not a session; the other fields except Dialect are then empty.
	Session bool
	ID      session.ID
	// Dialect is the name of the dialect that reads the log.
	Dialect string
	// CWD is the working directory that the log itself names.
	CWD string
	// Title is the name of the session, or the short summary of its last compaction. Prompt is the beginning of the first
	// prompt.
	Title, Prompt string
	// Created and Active are the times of creation and last use, as the log spells them.
	Created, Active session.Time
	// Parent is the session from which this one was forked, as the log spells it: an id or a path.
	Parent string
	// Task: another agent began the session for a task.
	Task bool
	// First identifies the first message, for agents that fork by copying: logs with the same first message are copies of each other.
	// Forked is when this log began to differ from the one that it was copied from, in milliseconds since 1970; -n if it is the original of
	// n logs, itself included. Both are 0 if unknown.
	First  uint64
	Forked int64
	// Origin is the session from which this one was converted.
	Origin  session.ID
	Version int
	// Messages and Entries count all branches; Branches counts the branch tips.
	Messages, Entries, Branches, Problems int
	// Models are the models that answered, in the order of their first answer.
	Models []string
	// Tokens and Cost are the recorded sums of all answers; Cost is in dollars.
	Tokens Tokens
	Cost   float64
	// Spells say when, and by which model, the tokens were used.
	Spells Spells
	Has    Has
}

// Tokens are what answers used, as far as it was recorded.
type Tokens struct{ Input, Output, CacheRead, CacheWrite, Total int64 }

// Add adds what an answer used.
func (t *Tokens) Add(u Tokens) {
	t.Input, t.Output = t.Input+u.Input, t.Output+u.Output
	t.CacheRead, t.CacheWrite = t.CacheRead+u.CacheRead, t.CacheWrite+u.CacheWrite
	t.Total += u.Total
}

// Sub subtracts what an answer used.
func (t *Tokens) Sub(u Tokens) {
	t.Add(Tokens{Input: -u.Input, Output: -u.Output, CacheRead: -u.CacheRead, CacheWrite: -u.CacheWrite, Total: -u.Total})
}

// Has is a set of features of a session.
type Has uint8

// The features that lists filter by.
const (
	HasLabel Has = 1 << iota
	HasBranch
	HasCompaction
	HasProblem
	HasBlob
)

var hasNames = []string{"label", "branch", "compaction", "problem", "blob"}

// ParseHas returns the feature with that name; ok is false if there is none.
func ParseHas(word string) (h Has, ok bool) {
	if i := slices.Index(hasNames, word); i >= 0 {
		return 1 << i, true
	}
	return 0, false
}

// Names returns the names of the features.
func (h Has) Names() []string {
	var list []string
	for i, name := range hasNames {
		if h&(1<<i) != 0 {
			list = append(list, name)
		}
	}
	return list
}

// String returns the names, separated by commas.
func (h Has) String() string { return strings.Join(h.Names(), ",") }

// Stamp identifies the content of a log at the time it was read. It shows whether the log changed without opening it.
type Stamp struct {
	// Generation identifies the content in the backend; see backend.Log.
	Generation string
	Size       int64
	// Nanos is when the log was last changed, in nanoseconds since 1970.
	Nanos int64
	// Changed is when anything about the log last changed; see backend.Log. It shows an edit whose time was set back.
	Changed int64
	// Racy is set if the log changed so shortly before it was read that a second change could have the same time. Such a stamp does not
	// prove that nothing changed. See Log.Continues.
	Racy bool
}

// Same reports whether a log in a list is unchanged since it was read. A list may have only the beginning of the generation.
func (s *Stamp) Same(generation string, size, nanos, changed int64) bool {
	return !s.Racy && s.Size == size && s.Nanos == nanos && s.Changed == changed && generation != "" && strings.HasPrefix(s.Generation, generation)
}
