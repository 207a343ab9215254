package store

import (
	"fmt"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/session"
)

// EventKind says what an Observer is told of.
type EventKind string

// The kinds of events.
const (
	EventBeforeCompaction EventKind = "session_before_compact" // a compaction is about to be appended
	EventCompaction       EventKind = "session_compact"        // it was appended
	EventBeforeFork       EventKind = "session_before_fork"    // the session, or a path of it, is about to be copied
	EventTree             EventKind = "session_tree"           // the leaf moved
	EventForeign          EventKind = "foreign"                // others wrote to the log
	EventRepaired         EventKind = "repaired"               // the end of the log was mended before an append
	EventProblem          EventKind = "problem"                // something is wrong with the log
)

// Event is what an Observer is told.
type Event struct {
	Kind EventKind
	// Path is the session's path.
	Path string
	// Entry is the entry that it is about: the compaction, the place of the fork, the new leaf.
	Entry session.EntryID
	// Count is how many entries others wrote.
	Count int
	// Problem is set for EventProblem and EventRepaired.
	Problem *session.Problem
}

// Observer is told what happens to a session. It is called while the session is locked and must not call it.
type Observer func(Event)

// Mended is the event for what a backend did to the end of a log before an append.
func Mended(path string, e backend.Mended) Event {
	p := session.Problem{
		File: path, Offset: e.Offset, Kind: session.ProblemTorn,
		Message: "the last line had no newline", Advice: "it has one now; nothing was lost",
	}
	if e.To != "" {
		p.Message = fmt.Sprintf("the last %d bytes were a torn record", e.Size)
		p.Advice = "they were moved to " + e.To
	}
	return Event{Kind: EventRepaired, Path: path, Problem: &p}
}
