package file

import (
	"fmt"
	"time"
)

// Level says what an append has survived when it returns. Replace is lasting at every level, because it puts at stake
// what was lasting before.
type Level int

const (
	// Flush: the end of the process. Sync, Close, Create, Replace and Remove make it the end of the machine.
	Flush Level = iota
	// None: the end of the process. Only Sync and Replace wait for the disk.
	None
	// Always: the end of the machine. Every append waits for the disk.
	Always
)

var levelNames = [...]string{Flush: "flush", None: "none", Always: "always"}

// String returns the name of the level.
func (l Level) String() string { return levelNames[l] }

// ParseLevel reads the name of a level.
func ParseLevel(s string) (Level, error) {
	for l, name := range levelNames {
		if s == name {
			return Level(l), nil
		}
	}
	return 0, fmt.Errorf("unknown durability level %q: none, flush or always", s)
}

// Event is something that happened to a log and that a person may want to know, though nothing failed.
type Event struct {
	Kind EventKind
	// Log is the name of the log.
	Log string
	// Offset and Size say where in the log it was, and how many bytes.
	Offset, Size int64
	// To is the name that torn bytes were moved to.
	To string
	// Err is the cause of an OwnerUnknown.
	Err error
	// Time is when it happened.
	Time time.Time
}

// EventKind says what happened.
type EventKind string

// The kinds of events.
const (
	// NewlineAdded: the last line was whole but had no newline; it has one now.
	NewlineAdded EventKind = "newline added"
	// TornMoved: the last line was torn, was moved to a log of its own and cut off.
	TornMoved EventKind = "torn end moved"
	// OwnerUnknown: who writes to the log could not be noted beside it, so others will not be able to tell who keeps
	// them waiting. The writing itself goes on.
	OwnerUnknown EventKind = "owner not noted"
)
