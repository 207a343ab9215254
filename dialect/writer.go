package dialect

import (
	"fmt"
	"io"
	"time"

	"github.com/treeline-dev/treeline/session"
)

// Writer is a Dialect that can write sessions. It is pure, too: it makes records and stores nothing.
type Writer interface {
	// Header gives the record that begins a session; nil if the format has none. Entries then hold the header's values, from
	// NewEntry.Header.
	Header(n NewSession) ([]byte, error)
	// EditHeader changes members of a header that was read and keeps all others. It also migrates a header of an old
	// version. If the log has a title slot, slot is its record and newSlot the changed one.
	EditHeader(h session.Header, slot []byte, edit HeaderEdit) (header, newSlot []byte, err error)
	// Record gives the record of a new entry. It copies the bytes of the body: later changes to the body have no effect.
	Record(n NewEntry) ([]byte, error)
	// Persist does to a record what the agent does before it writes one: large images go to blobs, very long strings are
	// cut. It gives the record itself if there is nothing to do.
	Persist(record []byte, opt PersistOptions) ([]byte, error)
	// NewID makes the id of a session that begins at t. CheckID returns an error if an id is not valid.
	NewID(t time.Time, random io.Reader) (session.ID, error)
	CheckID(id session.ID) error
	// NewEntryID makes an id for an entry. It may collide with another: the store tries again until it is new.
	NewEntryID(random io.Reader) (session.EntryID, error)
	// Habits says how the agent behaves, beyond the bytes that it writes.
	Habits() Habits
}

// NewSession is what the header of a new session says.
type NewSession struct {
	ID     session.ID
	Time   time.Time
	CWD    string
	Title  string
	Parent string
}

// HeaderEdit changes a header; nil members stay.
type HeaderEdit struct {
	ID     *session.ID
	Time   *time.Time
	CWD    *string
	Title  *string
	Parent *string
	// Copy: the header is that of a new session. It has a title slot only if new sessions of the value have one.
	Copy bool
	// Whole: the log will hold all entries itself, including those that it now takes from another log.
	Whole bool
	// Now gives the time of the edit to formats that note when a title was changed. It must be set with Title.
	Now func() time.Time
}

// NewEntry is an entry to be written.
type NewEntry struct {
	ID session.EntryID
	// Parent is "" for a root.
	Parent session.EntryID
	Time   time.Time
	Body   session.Body
	// Header is the header of the session: in some formats there is no header record, and the first entry, or each, holds its
	// values. It may be nil.
	Header *session.Header
	// Room is memory that Writer.Record may use for the record. It may be nil.
	Room []byte
}

// PersistOptions are the options of Writer.Persist.
type PersistOptions struct {
	// Put stores a blob and gives its reference. The blob must be durable before the record that names it is.
	Put func(b []byte) (ref string, err error)
	// KeepOverflow stores the whole text of a string that is cut in a blob that the record names.
	KeepOverflow bool
}

// Defer says when the log of a new session is created.
type Defer string

// The moments at which deferred creation ends.
const (
	DeferNever     Defer = "never"     // the header is written at once
	DeferMessage   Defer = "message"   // the first message of the user or the model
	DeferAssistant Defer = "assistant" // the first message of the model
)

// Check returns an error if d is not one of these moments. "" is valid.
func (d Defer) Check() error {
	switch d {
	case "", DeferNever, DeferMessage, DeferAssistant:
		return nil
	}
	return fmt.Errorf("unknown moment to create a log %.40q: never, message or assistant", string(d))
}

// Habits say how an agent behaves, as data.
type Habits struct {
	// Defer says when a session is worth a log. A value that is named after a program creates it with the first message of
	// the user or the model, even if the program itself waits for an answer: a prompt must not be lost. A "-doc" value does what
	// its document says.
	Defer Defer
	// FromTarget: a branch summary's From is the entry where the new branch begins; otherwise it is the leaf that was left.
	FromTarget bool
	// ForkByID: a fork names its parent session by id; otherwise by path. A branched session always names the path.
	ForkByID bool
	// RenameByEntry: a name is an entry of its own; otherwise it is in the header.
	RenameByEntry bool
	// NamesOnPath: only names on the path to the leaf count; otherwise the last one in the log.
	NamesOnPath bool
	// Branches, Labels: the format can express branches, and labels.
	Branches, Labels bool
	// Headerless: a log consists of entries only, and an empty log is a session.
	Headerless bool
	// Nameless: a session cannot have a name.
	Nameless bool
	// DropsEmptyFolders: when the last log of a folder is removed, so is the folder.
	DropsEmptyFolders bool
	// ResultsInCalls: the result of a tool call is in the same message as the call.
	ResultsInCalls bool
	// ResultsOfBranches: the program finds the results of a call on all branches after it, and sends the first. Branches that answer
	// a call differently cannot share the message with the call.
	ResultsOfBranches bool
	// KeepsByRepeating: a compaction does not name what it keeps; the kept entries are written again after it.
	KeepsByRepeating bool
	// ForgetsThinking: the model does not see its earlier thinking again. PlainResults: it is not told that a tool failed.
	ForgetsThinking, PlainResults bool
	// SavedWhole: a session is what the model sees now and is rewritten with each save. What a compaction removes is gone,
	// and the time in the header is that of the last save.
	SavedWhole bool
	// SumsInOwnWords: a compaction of the format adds words of the agent to the summary. A session that is converted from
	// another agent's then holds only what the model sees now, with the summary as a message.
	SumsInOwnWords bool
	// CompactsInPlace: a compaction changes existing records, so no entry can be one. A session that is converted from
	// another agent's then holds only what the model sees now, with the summary as a message.
	CompactsInPlace bool
	// LeafType is the type of the custom entry that makes a move of the leaf durable; "" if the format has leaf entries.
	LeafType string
	// ListsByCWD: if a folder may hold sessions of several working directories, a list shows only those of the requested
	// directory; otherwise it shows all sessions in the folder.
	ListsByCWD bool
	// ResolvesCWD: a session names its working directory with symbolic links resolved.
	ResolvesCWD bool
	// ContinuesListed: the session to continue is the first in the list; otherwise it is the log that was written last.
	ContinuesListed bool
	// RelabelKeepsTime: a label that is copied to a branched session keeps its time.
	RelabelKeepsTime bool
	// OldestHeader is a header of the format's first version: entries without a header are of that version. It is "" if the
	// format has only one version.
	OldestHeader string
}

// HoldsNow reports whether a session that is converted from another agent's holds only what the model sees now.
func (h Habits) HoldsNow() bool { return h.SavedWhole || h.SumsInOwnWords || h.CompactsInPlace }

// WritingDialect is a Dialect that is a Writer. It does not implement Dialect itself, because that would hide the
// optional interfaces of the Dialect in it.
type WritingDialect struct {
	Dialect Dialect
	Writer
}

// AsWriter returns d as a WritingDialect; ok is false if d cannot write.
func AsWriter(d Dialect) (w WritingDialect, ok bool) {
	w.Dialect = d
	w.Writer, ok = d.(Writer)
	return w, ok
}

// CannotHold gives the error for an entry of a kind that sessions of an agent do not have.
func CannotHold(agent string, body session.Body) error {
	return fmt.Errorf("a session of %s cannot hold an entry of the kind %s: it is %w", agent, session.KindOf(body), ErrUnsupported)
}

// CannotSay gives the error for a message of a role that sessions of an agent do not have.
func CannotSay(agent string, role session.Role) error {
	return fmt.Errorf("a session of %s has no messages of the role %q: it is %w", agent, role, ErrUnsupported)
}

// CannotKeep gives the error for a compaction that names what it keeps, for agents that write it again after the compaction.
func CannotKeep(agent string) error {
	return fmt.Errorf("a compaction of %s that names what it keeps is %w; append the messages to be kept again after it", agent, ErrUnsupported)
}

// NoCall gives the error for a tool result that names no call.
func NoCall(agent string) error {
	return fmt.Errorf("a tool result without its call in a session of %s is %w", agent, ErrUnsupported)
}
