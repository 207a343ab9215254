package dialect

import (
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Exact is a Dialect that recognises its own logs among those of its family. Such a log is of this value wherever it is.
type Exact interface {
	// Exact gets what Detect gets.
	Exact(first []Record) bool
}

// Parter is a Dialect that takes the messages of a context apart.
type Parter interface {
	// MessageParts gives what is inside a message in neutral form.
	MessageParts(message []byte) []session.Part
}

// Caller is a Dialect of an agent that uses one interface of language models, whichever model it asks.
type Caller interface {
	// API names the interface, as package llm does.
	API() string
}

// Commander is a Dialect that keeps commands that the user ran without the model.
type Commander interface {
	// Command takes a message of a context apart that is nothing but such a command; ok is false for any other.
	Command(message []byte) (c Command, ok bool)
}

// Overflower is a Dialect whose records may have long strings cut. They are whole in blobs, or in files of the session's
// folder if the Layout is Foldered.
type Overflower interface {
	// Whole gives the record with its strings as they were before they were cut: the record itself where none was. get
	// gives the bytes of a blob, or of a file that is named relative to the session's folder. A string stays cut where they
	// are missing or the string was changed since.
	Whole(record []byte, get func(ref string) ([]byte, error)) []byte
	// IsCut reports whether a string of the record is cut.
	IsCut(record []byte) bool
}

// Continuer is a Dialect whose logs need not be read from their beginning. Records that name their parents and records
// that follow each other both fit: the Builder knows what came before.
type Continuer interface {
	// Continue starts to decode a log at any record after its header. The Builder has the header, as the decoder of
	// NewDecoder would have set it, and knows what came before (Builder.StartAfter). The decoder gives the same entries and
	// Problems as one that read everything. ok is false for a log whose records depend on those before them. Where only some
	// do, Finish gives ErrEarlier after one of these.
	Continue(b *session.Builder) (dec Decoder, ok bool)
}

// ErrEarlier says that a log must be read from its beginning: what a record means depends on one that was not read.
var ErrEarlier = errors.New("a record depends on one before the place where reading began")

// Adder is a Decoder that can add an entry whose record was just made, without reading the record again.
type Adder interface {
	// Add does what Decode would do with the record of n, or gives false.
	Add(n NewEntry, r Record) bool
}

// Ruler is a Dialect with rules for a session as a whole, beyond those for its records.
type Ruler interface {
	// Check gives the rules that a session breaks.
	Check(t *session.Tree, log LogInfo) []session.Problem
}

// LogInfo is what a Ruler may need to know of a log besides its records.
type LogInfo struct {
	Name    string // the file's path
	Size    int64
	Changed time.Time
}

// Namer is a Dialect that can change the id of a record and keep all other bytes.
type Namer interface {
	SetID(record []byte, id session.EntryID) ([]byte, error)
}

// Mender is the session.EntryCodec of a tree whose program loses entries although their records can be read: it does not
// find the way to them. A repair asks it instead of treating orphans, cycles and repeated ids by itself.
type Mender interface {
	// Mends gives what has to change so that the program finds again what it loses; none where nothing is lost. Every
	// record of t is on a line of its own. It is asked again with the changes made until it gives none, so that what
	// depends on other changes can wait for them.
	Mends(t *session.Tree) []Mend
}

// Mend is one change that a Mender asks for.
type Mend struct {
	// Entry is the position of the entry concerned. Header: it is the header, which Writer.EditHeader completes.
	Entry  int
	Header bool
	Kind   session.ProblemKind
	// Problem says what is wrong, Action what is done about it.
	Problem, Action string
	// Edit changes the record of the entry; nil leaves it.
	Edit func(record []byte) ([]byte, error)
	// Append are records for the end of the log.
	Append [][]byte
}

// Editor is a Writer that can change single members of records that exist and keep all other bytes.
type Editor interface {
	// Rechain gives a record another parent; "" makes it a root. keep, if not "", becomes the first entry that a
	// compaction keeps.
	Rechain(record []byte, parent, keep session.EntryID) ([]byte, error)
	// SetArguments changes the arguments of the tool call with that id; changed is false where the record has no such call.
	SetArguments(record []byte, callID string, arguments []byte) (edited []byte, changed bool, err error)
}

// Adopter is a Writer that keeps the members of a record that it does not know.
type Adopter interface {
	// Adopt adds to record, which was just made from the body of the record given, the members of given that record
	// lacks, except those that say where the entry stands in its tree.
	Adopt(record, given []byte) []byte
}

// Spreader is a Writer that writes some entries as several records.
type Spreader interface {
	// Spread gives the entries that n is written as, in order: n alone where one record is enough. Each is the parent of the
	// next. The last has the id of n, the others have ids of newID.
	Spread(n NewEntry, newID func() (session.EntryID, error)) ([]NewEntry, error)
}

// Besider is a Writer with records that stand beside the tree: no entry of the conversation can follow them.
type Besider interface {
	// Beside reports whether a record is of that sort. What is appended after it follows the entry before it.
	Beside(record []byte) bool
}

// IsBeside reports whether a record stands beside the tree.
func IsBeside(d Dialect, record []byte) bool {
	b, ok := d.(Besider)
	return ok && b.Beside(record)
}

// Stamper is a Writer whose records name their session.
type Stamper interface {
	// Copy gives the record of an entry for a copy of its session. from is the session that is copied.
	Copy(record []byte, from session.Header, to NewSession) []byte
}

// AdoptMembers is Adopter.Adopt for records whose place in the tree is in the members place.
func AdoptMembers(record, given []byte, place ...string) []byte {
	for key, value := range rawjson.Fields(given) {
		if !slices.Contains(place, key) && rawjson.Get(record, key) == nil {
			record = rawjson.Set(record, key, rawjson.Compact(value))
		}
	}
	return record
}

// CallNamer is a Composer whose provider gives tool calls ids of a form of its own. A conversion gives the calls of other
// agents such ids.
type CallNamer interface {
	// CallID gives the id of that form for any other: itself if it has the form, and the same for equal ones.
	CallID(id string) string
}

// Slotted is a Writer whose logs may have a title slot: a record of fixed length before the header that is overwritten
// in place. Writer.EditHeader gets and gives it.
type Slotted interface {
	// IsSlot reports whether a record before the header is the slot.
	IsSlot(record []byte) bool
	// NewSlot gives the slot of a new session; nil where new sessions of the value have none.
	NewSlot(n NewSession) []byte
}

// IsSlot reports whether a line before the header is a title slot.
func IsSlot(d Dialect, line []byte) bool {
	s, ok := d.(Slotted)
	return ok && s.IsSlot(TrimBOM(line))
}

// Opening gives the records that a new session begins with: a title slot and the header, as far as the format has them.
func Opening(w WritingDialect, n NewSession) (records [][]byte, err error) {
	if s, ok := w.Dialect.(Slotted); ok {
		if slot := s.NewSlot(n); slot != nil {
			records = append(records, slot)
		}
	}
	header, err := w.Header(n)
	if header != nil {
		records = append(records, header)
	}
	return records, err
}

// Registrar is a Writer whose agent keeps the names of all sessions in one file of JSON Lines, not in their logs.
type Registrar interface {
	// Registry is the name of the file, relative to the folder that holds Root.Sessions.
	Registry() string
	// Register gives the record that names a session, "" to take its name away. It is appended to the file.
	Register(id session.ID, name string, now time.Time) []byte
	// Registered gives the names that the file has. What is not a record is skipped.
	Registered(content []byte) map[session.ID]string
}

// Captioner is a Dialect whose agent may keep the title of a session in a file of the session's folder. It counts where no
// record has a title.
type Captioner interface {
	// CaptionFile is the name of the file, relative to the folder.
	CaptionFile() string
	// Caption gives the title in it, "" if there is none.
	Caption(content []byte) string
}

// Recaptioner is a Captioner whose agent shows the title in that file: a rename changes it, too.
type Recaptioner interface {
	Captioner
	// SetCaption gives the content of the file with another title, "" to take it away. nil leaves the file as it is.
	SetCaption(content []byte, title string) []byte
}

// Profiler is a Layout of an agent that keeps the sessions of each of its user's profiles apart.
type Profiler interface {
	// Profile gives the place of a profile, which need not exist; "" is the profile in use: the one that the environment
	// names, or else the agent's default. It fails for a name that cannot be that of a folder.
	Profile(env Env, name string) (Root, error)
}

// Elsewhere is a Layout of an agent whose sessions may lie in folders that another version of it named.
type Elsewhere interface {
	// OtherDirs gives these folders for a working directory, relative to Root.Sessions. The header decides which sessions in
	// them belong to the directory.
	OtherDirs(env Env, cwd string) []string
}

// Lister is a Dialect that knows how its agent's own program lists sessions, for clients that expect the program's list.
// Unlike Peek it looks at whole logs.
type Lister interface {
	// Shows reports whether the program lists a log of that name as a session. The name is relative to the one folder that
	// is listed or, with all set, to the folder of the sessions of all working directories.
	Shows(name string, all bool) bool
	// List gives the row of a session whose log was last written at changed. The error is ErrNotShown where the program
	// leaves it out.
	List(t *session.Tree, path string, changed time.Time) (Listing, error)
	// Recent gives the names under which a log that begins with head is shown among the recent ones; ok is false where
	// it is not shown. No more than RecentHead bytes of head are used.
	Recent(head []byte, path string) (r Recent, ok bool)
}

// Resumer is a Dialect of an agent that tells the model where a session resumes.
type Resumer interface {
	// Resume gives the messages that say so, none where nothing changed. They follow the system messages that begin the
	// conversation.
	Resume(h session.Header, now Here) []session.Raw
}

// Here is where a session resumes. The model is not told what is "".
type Here struct {
	// Root is the project folder, WorkDir the working directory.
	Root, WorkDir string
	// Sandbox is the folder that tools may not leave, Approval the agent's mode of asking before it acts.
	Sandbox, Approval string
	// Provider and Model name the language model.
	Provider, Model string
}

// ErrNotShown is returned for a session that its agent's own list leaves out.
var ErrNotShown = errors.New("the agent's own list leaves it out")

// RecentHead is how many bytes of a log a list of recent sessions may read.
const RecentHead = 4096

// Listing is a row of an agent's own list.
type Listing struct {
	// JSON is the row in the agent's words. Plain is the row without the member that holds the texts of all messages; nil if
	// there is no such member.
	JSON, Plain []byte
	// CWD is the session's working directory.
	CWD string
	// Modified orders the list, the newest first.
	Modified time.Time
}

// Recent is a session among the recent ones.
type Recent struct {
	// Name is FullName, cut where it is too long for a narrow list.
	Name, FullName string
}

// recentMost is how many characters of a name a narrow list shows.
const recentMost = 40

// NameRecent names a session by the first line of the first text that has one.
func NameRecent(texts ...string) Recent {
	var r Recent
	for _, text := range texts {
		if r.FullName, _, _ = strings.Cut(strings.TrimSpace(text), "\n"); r.FullName != "" {
			break
		}
	}
	r.Name = r.FullName
	if utf8.RuneCountInString(r.Name) > recentMost {
		r.Name = string([]rune(r.Name)[:recentMost-1]) + "…"
	}
	return r
}
