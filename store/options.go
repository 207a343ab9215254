package store

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// Policy says what an append does when somebody else wrote to the log since we last looked.
type Policy string

const (
	// PolicyBranch: our entry keeps its parent and becomes a branch beside theirs. Nobody's words are lost or hung
	// below other words than they were meant for.
	PolicyBranch Policy = "branch"
	// PolicyFollow: our entry goes on from theirs.
	PolicyFollow Policy = "follow"
	// PolicyRefuse: the append fails with ErrForeign, and the session shows what they wrote.
	PolicyRefuse Policy = "refuse"
)

// Errors of writing, told apart with errors.Is.
var (
	// ErrReadOnly: the session was opened for reading.
	ErrReadOnly = errors.New("session is open for reading only")
	// ErrForeign: somebody else wrote to the log, and the policy is to refuse.
	ErrForeign = errors.New("another writer was there first")
	// ErrNewer: the log is of a newer version than we know.
	ErrNewer = errors.New("written by a newer version")
	// ErrUnsupported: the dialect cannot express it.
	ErrUnsupported = errors.New("not supported")
	// ErrClosed: the session was closed.
	ErrClosed = errors.New("session is closed")
)

// MaxRecord is the size in bytes of the largest entry that is taken. The agents read logs into strings, and line by line:
// what is much larger than any answer or picture would make the session unreadable to them.
const MaxRecord = 128 << 20

// ErrTooLarge: the entry is larger than MaxRecord.
var ErrTooLarge = fmt.Errorf("more than the %d that one can have", MaxRecord)

// WriteOptions say how a session is written.
type WriteOptions struct {
	// Durability says what an append survives when it returns; "" is DurabilityFlush.
	Durability Durability
	// Create begins a session where OpenWrite finds no file, or an empty one.
	Create bool
	// ReplaceUnreadable begins a fresh session where OpenWrite finds a file that is no session. What it holds is first
	// kept beside it.
	ReplaceUnreadable bool
	// Policy is for a second writer; "" is PolicyBranch.
	Policy Policy
	// Defer says when the log of a new session is created; "" is the dialect's own habit.
	Defer dialect.Defer
	// NoOverflow lets go of the part of a monstrous string that the agent's format cuts off. Otherwise the whole of it goes
	// to a blob.
	NoOverflow bool
	// Observer, if set, is told what happens.
	Observer Observer
	// Log, if set, is told once of the first write that failed.
	Log *slog.Logger
	// Clock and Random are the sources of times and ids; nil means those of the machine.
	Clock  func() time.Time
	Random io.Reader

	telling *sync.Mutex // held while Observer is called: a backend may have something to tell while the session has, too
}

// Durability says what an append survives when it returns.
type Durability string

const (
	// DurabilityNone: a crash of the process.
	DurabilityNone Durability = "none"
	// DurabilityFlush: a crash of the process; after Flush, Close and every rewrite also one of the machine.
	DurabilityFlush Durability = "flush"
	// DurabilityAlways: a crash of the machine.
	DurabilityAlways Durability = "always"
)

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

// tell tells the observer, one event at a time.
func (o *WriteOptions) tell(e Event) {
	o.telling.Lock()
	defer o.telling.Unlock()
	o.Observer(e)
}

// Appended says what became of an append.
type Appended struct {
	ID session.EntryID
	// Durable is false while the log waits for the first message that makes it worth keeping.
	Durable bool
	// Foreign is how many entries others wrote since we last looked; Outcome what was done about it.
	Foreign int
	Outcome Policy
}
