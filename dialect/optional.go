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

// Exact is a Dialect that recognises its own logs among those of its family. Such a log belongs to this value wherever it lies.
type Exact interface {
	// Exact gets what Detect gets.
	Exact(first []Record) bool
}

// Parter is a Dialect that splits the messages of a context into parts.
type Parter interface {
	// MessageParts gives what is inside a message in neutral form.
	MessageParts(message []byte) []session.Part
}

// Caller is a Dialect of an agent that always uses the same language model API, whichever model it calls.
type Caller interface {
	// API names the API, as package llm does.
	API() string
}

// Commander is a Dialect that keeps commands that the user ran without the model.
type Commander interface {
	// Command parses a message of a context that is only such a command; ok is false for any other message.
	Command(message []byte) (c Command, ok bool)
}

// Overflower is a Dialect whose records may have long strings cut. The whole strings are in blobs, or in files of the session's
// folder if the Layout is Foldered.
type Overflower interface {
	// Whole gives the record with its strings as they were before they were cut, or the record itself if none was cut. get
	// gives the bytes of a blob, or of a file that is named relative to the session's folder. A string stays cut if its blob or
	// file is missing or the string was changed since.
	Whole(record []byte, get func(ref string) ([]byte, error)) []byte
	// IsCut reports whether a string of the record is cut.
	IsCut(record []byte) bool
}

// Continuer is a Dialect whose logs need not be read from their beginning. Records may name their parents or follow the record
// before them, because the Builder knows what came before.
type Continuer interface {
	// Continue starts to decode a log at any record after its header. The Builder has the header that the decoder of NewDecoder
	// would have set, and knows what came before (Builder.StartAfter). The decoder gives the same entries and
	// Problems as one that read everything. ok is false for a log whose records depend on earlier records. Where only some
	// records do, Finish gives ErrEarlier if one of them was read.
	Continue(b *session.Builder) (dec Decoder, ok bool)
}

// ErrEarlier says that a log must be read from its beginning: the meaning of a record depends on one that was not read.
var ErrEarlier = errors.New("a record depends on one before the place where reading began")

// Adder is a Decoder that can add an entry whose record was just made, without reading the record again.
type Adder interface {
	// Add does what Decode would do with the record of n, or returns false.
	Add(n NewEntry, r Record) bool
}

// Ruler is a Dialect with rules for a session as a whole, in addition to those for its records.
type Ruler interface {
	// Check lists the violations of these rules in a session.
	Check(t *session.Tree, log LogInfo) []session.Problem
}

// LogInfo is what a Ruler may need to know about a log besides its records.
type LogInfo struct {
	Name    string // the file's path
	Size    int64
	Changed time.Time
}

// Namer is a Dialect that can change the id of a record and keep all other bytes.
type Namer interface {
	SetID(record []byte, id session.EntryID) ([]byte, error)
}

// Mender is an EntryCodec for a program that loses entries although their records can be read, because it does not
// find the way to them. A repair asks the Mender instead of handling orphans, cycles and repeated ids itself.
type Mender interface {
	// Mends gives the changes that make the program find the lost entries again; none if nothing is lost. Every
	// record of t is on a line of its own. The caller makes the changes and asks again until there are none, so
	// a change that depends on others can wait for them.
	Mends(t *session.Tree) []Mend
}

// Mend is one change that a Mender asks for.
type Mend struct {
	// Entry is the position of the entry concerned. Header: the change concerns the header, which Writer.EditHeader completes.
	Entry  int
	Header bool
	Kind   session.ProblemKind
	// Problem says what is wrong, Action what the change does about it.
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
	// SetArguments changes the arguments of the tool call with that id; changed is false if the record has no such call.
	SetArguments(record []byte, callID string, arguments []byte) (edited []byte, changed bool, err error)
}

// Adopter is a Writer that can copy unknown members of a given record into its own.
type Adopter interface {
	// Adopt adds to record the members of given that record lacks, except those that say where the entry stands in its tree.
	// record was just made from the body of given.
	Adopt(record, given []byte) []byte
}

// Spreader is a Writer that writes some entries as several records.
type Spreader interface {
	// Spread gives the entries as which n is written, in order: n alone if one record is enough. Each is the parent of the
	// next. The last has the id of n, the others have ids from newID.
	Spread(n NewEntry, newID func() (session.EntryID, error)) ([]NewEntry, error)
}

// Besider is a Writer with records that stand beside the tree: no entry of the conversation can follow them.
type Besider interface {
	// Beside reports whether a record stands beside the tree. What is appended after it follows the entry before it.
	Beside(record []byte) bool
}

// IsBeside reports whether a record stands beside the tree.
func IsBeside(d Dialect, record []byte) bool {
	b, ok := d.(Besider)
	return ok && b.Beside(record)
}

// Stamper is a Writer whose records name their session.
type Stamper interface {
	// Copy gives the record of an entry for a copy of its session. from is the header of the original.
	Copy(record []byte, from session.Header, to NewSession) []byte
}

// AdoptMembers is Adopter.Adopt for records in which the members place say where the entry stands in the tree.
func AdoptMembers(record, given []byte, place ...string) []byte {
	for key, value := range rawjson.Fields(given) {
		if !slices.Contains(place, key) && rawjson.Get(record, key) == nil {
			record = rawjson.Set(record, key, rawjson.Compact(value))
		}
	}
	return record
}

// CallNamer is a Composer whose provider uses a special form for ids of tool calls. A conversion gives the calls of other
// agents such ids.
type CallNamer interface {
	// CallID gives an id of that form for any id: the id itself if it has the form, and equal ids for equal ones.
	CallID(id string) string
}

// Slotted is a Writer whose logs may have a title slot: a record of fixed length before the header that is overwritten
// in place. Writer.EditHeader takes and returns it.
type Slotted interface {
	// IsSlot reports whether a record before the header is the slot.
	IsSlot(record []byte) bool
	// NewSlot gives the slot of a new session; nil if new sessions of the value have none.
	NewSlot(n NewSession) []byte
}

// IsSlot reports whether a line before the header is a title slot.
func IsSlot(d Dialect, line []byte) bool {
	s, ok := d.(Slotted)
	return ok && s.IsSlot(TrimBOM(line))
}

// Opening returns the records that a new session begins with: a title slot and the header, if the format has them.
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
	// Register gives the record that names a session; the name "" removes the name. The record is appended to the file.
	Register(id session.ID, name string, now time.Time) []byte
	// Registered gives the names in the file. A line that is not a record is skipped.
	Registered(content []byte) map[session.ID]string
}

// Captioner is a Dialect whose agent may keep the title of a session in a file of the session's folder. That title counts
// where no record has one.
type Captioner interface {
	// CaptionFile is the name of the file, relative to the session's folder.
	CaptionFile() string
	// Caption gives the title in the file's content, "" if there is none.
	Caption(content []byte) string
}

// Recaptioner is a Captioner whose agent shows the title in that file: a rename changes it, too.
type Recaptioner interface {
	Captioner
	// SetCaption gives the content of the file with another title; "" removes the title. nil leaves the file as it is.
	SetCaption(content []byte, title string) []byte
}

// Profiler is a Layout of an agent that keeps the sessions of each user profile apart.
type Profiler interface {
	// Profile gives the place of a profile, which need not exist. "" is the profile in use: the one that the environment
	// names, or else the agent's default. It fails for a name that cannot be the name of a folder.
	Profile(env Env, name string) (Root, error)
}

// Elsewhere is a Layout of an agent whose sessions may lie in folders that another version of the agent named.
type Elsewhere interface {
	// OtherDirs gives these folders for a working directory, relative to Root.Sessions. The header of a session in them decides
	// whether it belongs to the directory.
	OtherDirs(env Env, cwd string) []string
}

// Lister is a Dialect that knows how its agent's own program lists sessions, for clients that expect the program's list.
// Unlike Peek it reads whole logs.
type Lister interface {
	// Shows reports whether the program lists a log of that name as a session. The name is relative to the folder that
	// is listed or, if all is set, to the folder of the sessions of all working directories.
	Shows(name string, all bool) bool
	// List gives the row of a session whose log was last written at changed. The error is ErrNotShown if the program
	// leaves the session out.
	List(t *session.Tree, path string, changed time.Time) (Listing, error)
	// Recent gives the names under which a log that begins with head appears among the recent sessions; ok is false if
	// it does not. At most RecentHead bytes of head are used.
	Recent(head []byte, path string) (r Recent, ok bool)
}

// Resumer is a Dialect of an agent that tells the model where a session resumes.
type Resumer interface {
	// Resume gives the messages that tell the model so; none if nothing changed. They follow the system messages that begin the
	// conversation.
	Resume(h session.Header, now Here) []session.Raw
}

// Here is where a session resumes. The model is not told values that are "".
type Here struct {
	// Root is the project folder, WorkDir the working directory.
	Root, WorkDir string
	// Sandbox is the folder that tools may not leave. Approval is the mode in which the agent asks before it acts.
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
	// JSON is the row as the agent spells it. Plain is the row without the member that holds the texts of all messages; nil if
	// there is no such member.
	JSON, Plain []byte
	// CWD is the session's working directory.
	CWD string
	// Modified orders the list, the newest first.
	Modified time.Time
}

// Recent is the name of a session in a list of recent ones.
type Recent struct {
	// Name is FullName, shortened if it is too long for a narrow list.
	Name, FullName string
}

// recentMost is how many characters of a name a narrow list shows.
const recentMost = 40

// NameRecent names a session by the first line of the first text that is not blank.
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
