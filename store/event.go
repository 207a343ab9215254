package store

import "github.com/treeline-dev/treeline/session"

// EventKind says what an Observer is told of.
type EventKind string

const (
	EventBeforeCompaction EventKind = "session_before_compact"
	EventCompaction       EventKind = "session_compact"
	EventBeforeFork       EventKind = "session_before_fork"
	EventTree             EventKind = "session_tree" // the leaf moved
	EventForeign          EventKind = "foreign"      // others wrote to the log
	EventRepaired         EventKind = "repaired"     // the end of the log was mended before an append
	EventProblem          EventKind = "problem"
)

// Event is what an Observer is told.
type Event struct {
	Kind EventKind
	// Path is the session's file.
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
