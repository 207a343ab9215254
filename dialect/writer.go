package dialect

import (
	"io"
	"time"

	"github.com/treeline-dev/treeline/session"
)

// Writer is a Dialect that can write too. Like all of a dialect it is pure: it makes records and never puts them
// anywhere.
type Writer interface {
	// Header gives the record that begins a session; nil where the format has none. What it would say is then in the
	// Header of the first NewEntry.
	Header(n NewSession) ([]byte, error)
	// EditHeader changes members of a header that was read and keeps all others. It also brings an old version's header
	// up to today's. Where the log has a title slot, its record comes in too and both come out changed.
	EditHeader(h session.Header, slot []byte, edit HeaderEdit) (header, newSlot []byte, err error)
	// Record gives the record of a new entry. The bytes of the body are copied: later changes do not leak in.
	Record(n NewEntry) ([]byte, error)
	// Persist does to a record what the agent does before it keeps one: large images go to blobs, monstrous strings
	// are cut. It gives the record itself where there is nothing to do.
	Persist(record []byte, opt PersistOptions) ([]byte, error)
	// NewID makes the id of a session that begins at t, CheckID says why an id that somebody chose will not do.
	NewID(t time.Time, random io.Reader) (session.ID, error)
	CheckID(id session.ID) error
	// NewEntryID makes an id for an entry. It need not be new: the store tries again until it is.
	NewEntryID(random io.Reader) (session.EntryID, error)
	// Habits says how the agent does things that are not a matter of bytes.
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
	// DropSlot leaves the title slot out: a copy carries its title in the header.
	DropSlot bool
}

// NewEntry is an entry to be written.
type NewEntry struct {
	ID session.EntryID
	// Parent is "" for a root.
	Parent session.EntryID
	Time   time.Time
	Body   session.Body
	// Header is the session's, where the entry is a root: in some formats the first one says what stands in a header
	// elsewhere. It may be nil.
	Header *session.Header
}

// RecordAppender is a Writer that can make a record in memory which is there already: who appends one entry after the
// other then leaves no garbage behind.
type RecordAppender interface {
	// AppendRecord appends to dst what Record would give. The Body of n may also be a *session.Message, which is the
	// caller's: to put a message into an interface is to copy it.
	AppendRecord(dst []byte, n NewEntry) ([]byte, error)
}

// PersistOptions say what Persist works with.
type PersistOptions struct {
	// Put keeps a blob and gives its reference. It must be durable before the record that names it is.
	Put func(b []byte) (ref string, err error)
	// KeepOverflow puts the whole text of a string that is cut into a blob, named in the record.
	KeepOverflow bool
}

// Defer says when the log of a new session is created.
type Defer string

// What a new log waits for.
const (
	DeferNever     Defer = "never"     // the header is written at once
	DeferMessage   Defer = "message"   // the first message of the user or the model
	DeferAssistant Defer = "assistant" // the first message of the model
)

// Habits are the ways of an agent, as data.
type Habits struct {
	Defer Defer
	// FromTarget: a branch summary's From is the entry that the new branch begins at; otherwise the leaf that was left.
	FromTarget bool
	// ForkByID: a fork names its parent session by id; otherwise by path. A branched session always names the path.
	ForkByID bool
	// RenameByEntry: a name is an entry of its own; otherwise it stands in the header.
	RenameByEntry bool
	// Branches, Labels: the format can express them.
	Branches, Labels bool
	// Headerless: a log has nothing but entries, and an empty one is a session.
	Headerless bool
	// Nameless: a session cannot be given a name.
	Nameless bool
	// DropsEmptyFolders: when the last log of a folder is removed, the folder goes too.
	DropsEmptyFolders bool
	// ModelByEntry: an answer does not say which model gave it; an entry before it does.
	ModelByEntry bool
	// ResultsInCalls: what a tool answered stands beside the call, in one message.
	ResultsInCalls bool
	// KeepsByRepeating: a compaction names nothing that it keeps; what is kept is written again behind it.
	KeepsByRepeating bool
	// SavedWhole: a session is what the model sees now, saved anew each time. What a compaction left behind is not kept, and
	// the time of the header is that of the last save.
	SavedWhole bool
	// LeafType is the type of the custom entry that makes a branch last; "" where the format has entries for it.
	LeafType string
	// AskedAtOnce: a log that is asked for by its path, a fork and a branched session are written at once, whatever
	// they hold; otherwise they wait as every new session does.
	AskedAtOnce bool
	// ListsByCWD: a list of a folder that is not the agent's own for a working directory, or is its own for all of them,
	// keeps the sessions of the one asked for; otherwise it shows all that lie there.
	ListsByCWD bool
	// ContinuesListed: the session to go on with is the first of the list; otherwise the log that was written last.
	ContinuesListed bool
	// RelabelKeepsTime: a label that is made again in a branched session keeps its time.
	RelabelKeepsTime bool
	// OldestHeader is a header of the format's first version: entries without a header are of that version. "" where the
	// format has one version.
	OldestHeader string
}

// Editor is a Writer that can change single members of records that exist, keeping all other bytes.
type Editor interface {
	// Rechain hangs a record below another parent ("" makes it a root). keep, if not "", becomes the first entry that
	// a compaction keeps.
	Rechain(record []byte, parent, keep session.EntryID) ([]byte, error)
	// SetArguments changes the arguments of the tool call with that id; changed is false where the record has none.
	SetArguments(record []byte, callID string, arguments []byte) (edited []byte, changed bool, err error)
}

// WritingDialect is a Dialect that is a Writer. It is no Dialect itself: a Dialect wrapped in it would hide the
// optional interfaces of the one inside.
type WritingDialect struct {
	Dialect Dialect
	Writer
}

// AsWriter gives d as a WritingDialect; ok is false where it cannot write.
func AsWriter(d Dialect) (w WritingDialect, ok bool) {
	w.Dialect = d
	w.Writer, ok = d.(Writer)
	return w, ok
}
