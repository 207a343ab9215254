package store

import (
	"bufio"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store/lists"
)

// Policy says what an append does when another process wrote to the log first.
type Policy string

const (
	// PolicyBranch: our entry keeps its parent and becomes a branch beside theirs. No entry is lost, and each keeps the parent that it was
	// meant for.
	PolicyBranch Policy = "branch"
	// PolicyFollow: our entry follows theirs.
	PolicyFollow Policy = "follow"
	// PolicyRefuse: the append fails with ErrForeign, and the session shows the foreign entries.
	PolicyRefuse Policy = "refuse"
)

// Errors of writing, told apart with errors.Is.
var (
	// ErrReadOnly: the session was opened for reading.
	ErrReadOnly = errors.New("session is open for reading only")
	// ErrForeign: another process wrote to the log, and the policy is to refuse.
	ErrForeign = errors.New("another writer was there first")
	// ErrNewer: the log is of a newer version than we know.
	ErrNewer = dialect.ErrNewer
	// ErrNotEntry: a record that was to be appended is not exactly one entry.
	ErrNotEntry = lists.ErrNotEntry
	// ErrUnsupported: the dialect cannot express what was asked for.
	ErrUnsupported = dialect.ErrUnsupported
	// ErrProfile: the name is not a valid name of a profile.
	ErrProfile = dialect.ErrProfile
	// ErrSilent: the message says nothing; providers refuse such a message.
	ErrSilent = dialect.ErrSilent
	// ErrClosed: the session was closed.
	ErrClosed = logtree.ErrClosed
)

// MaxRecord is the size in bytes of the largest entry. Agents read logs line by line into strings: a much larger entry
// would make the session unreadable to them.
const MaxRecord = 128 << 20

// ErrTooLarge: the entry is larger than MaxRecord.
var ErrTooLarge = fmt.Errorf("more than the limit of %d", MaxRecord)

// WriteOptions say how a session is written.
type WriteOptions struct {
	// Durability says what an append survives when it returns; "" is DurabilityFlush.
	Durability Durability
	// Create begins a session where OpenWrite finds no file, or an empty one.
	Create bool
	// ReplaceUnreadable begins a fresh session where OpenWrite finds a file that is not a session. Its content is first copied
	// to a file beside it.
	ReplaceUnreadable bool
	// ForceRewrite rewrites, moves and deletes a log even if another program has it open for writing. Otherwise that fails with
	// backend.ErrHeld: the program would go on writing to a file that no longer has a name. See package backend/file for the systems on
	// which this is known.
	ForceRewrite bool
	// Policy is what happens if another process wrote first; "" is PolicyBranch.
	Policy Policy
	// Defer says when the log of a new session is created; "" is what dialect.Habits says. DurabilityAlways, Flush and a durable branch
	// create it earlier.
	Defer dialect.Defer
	// Force writes what is otherwise refused with a *RefusedError because it looks like a mistake.
	Force bool
	// NoOverflow drops the part of a very long string that the agent's format cuts off. Otherwise the whole string goes to a blob.
	NoOverflow bool
	// Terminal names the terminal that the session is used from, for the agent's breadcrumbs; "" is that of the machine.
	Terminal string
	// Writer is recorded with each write in an archive.
	Writer backend.Writer
	// Observer, if set, receives the events of the session.
	Observer Observer
	// Log, if set, gets one message about the first write that failed.
	Log *slog.Logger
	// Clock and Random are the sources of times and ids; nil means those of the machine.
	Clock  func() time.Time
	Random io.Reader

	telling *sync.Mutex // held while Observer is called: the backend and the session may both report an event
}

// Durability says what an append survives when it returns.
type Durability = backend.Durability

const (
	// DurabilityNone: a crash of the process.
	DurabilityNone = backend.DurabilityNone
	// DurabilityFlush: a crash of the process; after Flush, Close and every rewrite also one of the machine.
	DurabilityFlush = backend.DurabilityFlush
	// DurabilityAlways: a crash of the machine.
	DurabilityAlways = backend.DurabilityAlways
)

// Filled returns the options with defaults for what is not set.
func (o WriteOptions) Filled() WriteOptions {
	o.fill()
	return o
}

// complete checks the options and fills in what is not set.
func (o *WriteOptions) complete() error {
	if !slices.Contains([]Policy{"", PolicyBranch, PolicyFollow, PolicyRefuse}, o.Policy) {
		return fmt.Errorf("unknown policy %.40q: branch, follow or refuse", string(o.Policy))
	}
	o.fill()
	return cmp.Or(o.Defer.Check(), o.Durability.Check())
}

func (o *WriteOptions) fill() {
	if o.Durability == "" {
		o.Durability = DurabilityFlush
	}
	if o.Policy == "" {
		o.Policy = PolicyBranch
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Random == nil {
		o.Random = bufio.NewReaderSize(rand.Reader, 256) // ids are short
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Observer == nil {
		o.Observer = func(Event) {}
	}
	if o.telling == nil {
		o.telling = new(sync.Mutex)
	}
}

// ask sends the observer an event that it may refuse, and returns a VetoError if it does.
func (o *WriteOptions) ask(e Event) error {
	var refused error
	e.Refuse = func(reason error) { refused = cmp.Or(refused, reason) }
	o.tell(e)
	if refused != nil {
		return &VetoError{Event: e.Kind, Reason: refused}
	}
	return nil
}

// VetoError is the error of a call that an Observer refused. Nothing was changed.
type VetoError struct {
	Event  EventKind
	Reason error
}

// Error implements error.
func (e *VetoError) Error() string { return fmt.Sprintf("refused at %s: %v", e.Event, e.Reason) }

// Unwrap returns the reason.
func (e *VetoError) Unwrap() error { return e.Reason }

// tell sends the observer an event, one at a time.
func (o *WriteOptions) tell(e Event) {
	o.telling.Lock()
	defer o.telling.Unlock()
	o.Observer(e)
}

// Appended says what became of an append.
type Appended struct {
	ID session.EntryID
	// Durable: the entry is in a log and survives what WriteOptions.Durability says. It is false while the creation of the log is deferred,
	// in a session that is never stored, and for a move of the leaf that wrote nothing.
	Durable bool
	// Foreign is how many entries other processes wrote first; Outcome is what was done about them.
	Foreign int
	Outcome Policy
}

// EventKind is the kind of an Event.
type EventKind string

// The kinds of events.
const (
	EventBeforeCompaction EventKind = "session_before_compact" // a compaction is about to be appended
	EventCompaction       EventKind = "session_compact"        // it was appended
	EventBeforeFork       EventKind = "session_before_fork"    // the session, or a path of it, is about to be copied
	EventTree             EventKind = "session_tree"           // the leaf moved
	EventForeign          EventKind = "session_foreign"        // another process wrote to the log
	EventRepaired         EventKind = "session_repaired"       // the end of the log was mended before an append
	EventProblem          EventKind = "session_problem"        // something is wrong with the log
	EventHeld             EventKind = "session_held"           // a program has the old log open after a forced rewrite
)

// Event is what an Observer receives.
type Event struct {
	Kind EventKind
	// Path is the session's path.
	Path string
	// Entry is the entry that the event is about: the compaction, the place of the fork, the new leaf.
	Entry session.EntryID
	// Count is how many entries other processes wrote. Outcome is what becomes of an append that finds them, "" if there is no append.
	Count   int
	Outcome Policy
	// Problem is set for EventProblem, EventRepaired and EventHeld.
	Problem *session.Problem
	// Refuse, for EventBeforeCompaction and EventBeforeFork, vetoes what is about to happen: the call fails with a VetoError
	// that wraps the reason, and nothing is changed. It is nil for other events, and must not be called later.
	Refuse func(reason error)
}

// Observer receives the events of a session. It is called while the session is locked and must not call the session.
type Observer func(Event)

// Mended returns the event for a repair that a backend made at the end of a log before an append.
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

// Late returns the events for what other programs did to a log while it was replaced or removed.
func Late(path string, late backend.Late) (list []Event) {
	if n := late.Kept + len(late.Records); n > 0 {
		list = append(list, Event{Kind: EventForeign, Path: path, Count: n})
	}
	if len(late.Holders) > 0 {
		list = append(list, Event{Kind: EventHeld, Path: path, Problem: &session.Problem{
			File: path, Kind: session.ProblemHeld,
			Message: "the old file is still open in " + strings.Join(late.Holders, ", "),
			Advice:  "what it writes from now on is lost; end it and open the session again",
		}})
	}
	return list
}
