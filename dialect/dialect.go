// Package dialect defines what a dialect is: how one agent writes the records of a session, and where it keeps them.
//
// A dialect is a pure codec. It never touches a file, the clock or the environment. What it needs to know about the machine comes
// in an Env, and it asks for other logs and files by name (Needer). So every dialect can be tested and fuzzed with plain bytes.
//
// The values of one package are one family of formats, such as the format that today's program writes and the one in the agent's
// document. They differ only in data. FORMATS.md describes each format field by field.
//
// # Optional interfaces
//
// A dialect implements Dialect, Decoder, Layout, session.EntryCodec and session.MessageCodec. Everything else is
// optional and found by type assertion on the value in the column "on".
//
//	interface          on          implement it when                                       asked by
//	Writer             Dialect     the dialect can write sessions                          store
//	Composer           Dialect     it can make messages from texts, images and calls       append, convert
//	Runs               Dialect     the agent keeps run logs                                runs
//	Runner             Dialect     runs record where a session was                         lists, resuming
//	Resumer            Dialect     the agent tells the model that a session resumes        contexts
//	Launcher           Dialect     the program can be started with a session               resuming
//	Parter             Dialect     it can split messages into parts                        convert, faces
//	Caller             Dialect     the agent uses one interface of language models         requests
//	Commander          Dialect     commands of the user are messages                       convert
//	Exact              Dialect     a log shows which value of the family wrote it          detection
//	Continuer          Dialect     a log can be decoded from the middle                    search, catalogue
//	Lister             Dialect     its lists must be like those of the agent's program     lists for the agent
//	Ruler              Dialect     there are rules for a session as a whole                check
//	Overflower         Dialect     long strings are cut, and kept whole elsewhere          reading whole records
//	Captioner          Dialect     a title may be in a file of the session's folder        lists
//	Recaptioner        Captioner   its agent shows that title                              rename
//	Namer              Dialect     the id of a record can be changed                       repair
//	Editor             Dialect     single members of a record can be changed               rewrite, fork, repair
//	CallNamer          Dialect     ids of tool calls have a special form                   convert
//	Adopter            Dialect     unknown members of a record must be kept                append
//	Spreader           Dialect     it writes some entries as several records               append, convert
//	Besider            Dialect     some records stand beside the tree                      append, branch, convert
//	Stamper            Dialect     each record names its session                           fork
//	Slotted            Dialect     a title slot may stand before the header                rewrite, convert
//	Framer             Dialect     a new record depends on the log, or needs others        append
//	Registrar          Dialect     names of sessions are in a separate file                rename
//	Reacher            Dialect     the log is linear, and an event can undo its last part  branch
//	Adder              Decoder     it can add an entry without reading its record again    append
//	Needer             Decoder     reading a log needs other logs, or files beside it      reading a log
//	LogNeeder          Decoder     the other logs may be long                              reading a log
//	Placer             Layout      names of folders and logs carry information             lists
//	Kin                Layout      names of logs say which session they belong to          lists
//	Marked             Layout      a file near the logs names their working directory       lists, opening, create
//	Doubler            Layout      one session may have several logs                       lists
//	Foldered           Layout      a session has a folder beside its log                   move, fork, remove, whole records
//	Orderer            Layout      lists are not ordered by the time of the last change    lists
//	Sharer             Layout      two values keep their logs below one folder             lists
//	Profiler           Layout      the user has profiles with sessions of their own        create, continue
//	Elsewhere          Layout      another version of the agent names folders differently  lists for the agent
//	Historian          Layout      the user's prompts are in a separate file               prompt history
//	Housed             Layout      logs must lie in a certain folder                       create
//	session.Skimmer    EntryCodec  it can read many entries for a caller that keeps none   search
//	session.Navigator  EntryCodec  the format has its own rules for leaf and path          session.Tree
//	session.Replayer   EntryCodec  the format has its own way from a path to messages      session.BuildContext
//	session.Spender    EntryCodec  usage is repeated, or recorded beside the answers       catalogue
//	session.Echoer     EntryCodec  a log has texts twice                                   search
//	session.Noter      EntryCodec  most entries are notes for the program's own use        drawings of the tree
//	session.Copier     EntryCodec  forks are copies that do not name their source          catalogue
//	Mender             EntryCodec  the program loses what a repair can bring back          repair
//	session.Omitter    EntryCodec  the program does not send the model all it should       contexts
//
// Four members of a session.Envelope serve these formats: Aside marks an entry that does not move the leaf, Joined one that
// begins no branch, Message names the message that a record is a piece of, and Foreign marks a record of another log.
package dialect

import (
	"errors"
	"time"

	"github.com/treeline-dev/treeline/session"
)

// Record is one record of a log, as a backend read it.
type Record struct {
	// Data is valid only during the call: a decoder copies what it keeps.
	Data []byte
	// Offset is where the record begins, in bytes from the start of the log. Line counts from 1.
	Offset int64
	Line   int
	// Torn: the record is the last one and has no newline.
	Torn bool
}

// Dialect is one agent's format.
type Dialect interface {
	// Name is the name that users see and type, for example after --dialect.
	Name() string
	// Family names the format, which several values may share. Detection by content finds the family.
	Family() string
	// Detect reports whether a log that begins with these records is of this family. It gets the first whole records of
	// the log without blank ones. The answer must depend on nothing else, so that it never changes while a log grows.
	Detect(first []Record) bool
	// NewDecoder starts to decode one log.
	NewDecoder(b *session.Builder) Decoder
	// Encode gives the record of an entry as it is written today: the bytes that were read, unless the entry was
	// migrated from an old version.
	Encode(e session.Entry) ([]byte, error)
	// Codec gives the codec for the entries that this dialect decoded.
	Codec() session.Codec
	// Layout says where the agent keeps its sessions and how it names them.
	Layout() Layout
	// Peek makes a summary from the first and the last bytes of a log, for lists that must not read whole logs. The tail
	// may begin in the middle of a record. It is empty where head is the whole log; then whole is set.
	Peek(head, tail []byte, whole bool) Summary
}

// Decoder turns the records of one log into entries, in order.
type Decoder interface {
	// Decode never fails: what it cannot read becomes an Opaque entry or a Problem.
	Decode(r Record)
	// Finish ends the log. It fails only where the log is not a session, because no header can be read: the error is
	// then a *session.Problem of kind ProblemNoHeader.
	Finish() error
}

// Env is what a layout knows about the machine. The functions must not be nil unless their comment allows it.
type Env struct {
	Home    string // absolute
	TempDir string // absolute, as the operating system gives it
	WorkDir string // absolute
	// Getenv looks up an environment variable.
	Getenv func(string) string
	// Realpath resolves symbolic links; it fails where the path does not exist.
	Realpath func(string) (string, error)
	// Folders lists the names of the folders in a folder, without symbolic links. If it is nil, no folder is listed.
	Folders func(dir string) ([]string, error)
	// Access reports whether a path exists and may be read and written. If it is nil, nothing is known about paths.
	Access func(path string) (exists, read, write bool)
	// Zone is the local time zone.
	Zone *time.Location
	// Terminal names the terminal of the process, for breadcrumbs; "" where there is none.
	Terminal string
}

// Root is one place where an agent keeps sessions and what belongs to them.
type Root struct {
	// Sessions is the folder below which the logs are.
	Sessions string
	// Blobs is the folder of externalised images, "" where the dialect has none.
	Blobs string
	// Breadcrumbs is the folder of the per-terminal pointers, "" where the dialect has none.
	Breadcrumbs string
	// Driver names the backend.Driver that presents the contents of Sessions as logs; "" is the driver for plain folders.
	Driver string
}

// Layout says where an agent keeps its logs and how it names them.
type Layout interface {
	// Roots gives the folders that the agent would use here, the most specific first: an override by an environment
	// variable comes before the default.
	Roots(env Env) []Root
	// RootAt gives the Root whose base folder is dir. The base folder is the one that holds "sessions".
	RootAt(dir string) Root
	// Dir is the folder, relative to Root.Sessions, for sessions of this working directory. Two directories may share a
	// folder: the working directory in the header decides, never the name of the folder.
	Dir(env Env, cwd string) string
	// File is the file name of a session that begins at t, which is in the local time zone.
	File(t time.Time, id session.ID) string
	// Owns reports whether a log of that name, relative to Root.Sessions, is a session log of this layout.
	Owns(name string) bool
}

// Summary is what a list shows of a session.
type Summary struct {
	ID      session.ID
	CWD     string
	Title   string // as the agent shows it; "" where the bytes at hand show none
	Prompt  string // text of the first user message; "" where it was not found
	Command string // what the user typed to the program rather than the model, such as /init; "" where Prompt is known
	Created session.Time
	// Active is the time of the last entry, or the time of last use in the agent's own list. Its Text is ""
	// where the tail does not show it; TailShort then says that a longer tail may show it.
	Active    session.Time
	TailShort bool
	// Messages counts the messages; -1 where counting them would need the whole log.
	Messages int
	Parent   string
	// Task: another agent began the session to have a task done.
	Task    bool
	Version int
	// OK is false if no header could be read from head.
	OK bool
}

// Errors that callers tell apart with errors.Is.
var (
	// ErrUnsupported: the format cannot express it.
	ErrUnsupported = errors.New("not supported")
	// ErrNewer: the log is of a newer version than the dialect knows. It is never written to.
	ErrNewer = errors.New("written by a newer version")
	// ErrProfile: a profile cannot have that name.
	ErrProfile = errors.New("not the name of a profile")
)
