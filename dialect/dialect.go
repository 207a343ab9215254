// Package dialect says what a dialect is: how one agent writes the records of a session, and where it keeps them.
//
// A dialect is a pure codec. It never touches a file, the clock or the environment: what it needs to know of the machine
// comes in as an Env. That makes every dialect testable with plain bytes and fuzzable.
//
// Two values of one package may describe the same family of formats (today's program, and the variant that its
// document describes); they differ by data.
package dialect

import (
	"time"

	"github.com/treeline-dev/treeline/session"
)

// Record is one record of a log, as a backend read it.
type Record struct {
	// Data is valid only during the call: a decoder copies what it keeps.
	Data []byte
	// Offset and Line say where the record begins: bytes from the start of the log, and lines counted from 1.
	Offset int64
	Line   int
	// Torn: it is the last record and has no newline.
	Torn bool
}

// Dialect is one agent's format.
type Dialect interface {
	// Name is how people and --dialect call it.
	Name() string
	// Family names the format that several values may share: detection by content finds the family.
	Family() string
	// Detect says whether a log that begins with these records is of this family. It gets the first records of the
	// log, whole, blank ones left out; it must not depend on anything else, so that the answer never changes while
	// a log grows.
	Detect(first []Record) bool
	// NewDecoder starts to decode one log.
	NewDecoder(b *session.Builder) Decoder
	// Encode gives the record that stands for the entry in a log that is written today: for an entry that was read
	// and not changed exactly the bytes that were read, unless the log's version is an old one.
	Encode(e session.Entry) ([]byte, error)
	// Codec looks inside the entries that this dialect decoded.
	Codec() session.Codec
	// Layout says where the agent keeps its sessions and how it names them.
	Layout() Layout
	// Peek makes a summary from the first and the last bytes of a log, for lists that must not read whole logs.
	// The tail may begin in the middle of a record; it is empty where head is the whole log (whole is set).
	Peek(head, tail []byte, whole bool) Summary
}

// Decoder turns the records of one log into entries, in order. Decode never fails: what it cannot read becomes an
// Opaque entry or a Problem. Finish ends the log and fails only when it is not a session at all (no readable
// header): then the error is a *session.Problem of kind ProblemNoHeader.
type Decoder interface {
	Decode(r Record)
	Finish() error
}

// Adder is a Decoder that can take an entry whose record was just made, without reading the record again.
type Adder interface {
	// Add does what Decode would do with the record of n, or gives false. The Body of n may also be a *session.Message,
	// see RecordAppender.
	Add(n NewEntry, r Record) bool
}

// Env is what a layout knows of the machine. The functions must not be nil unless they say so.
type Env struct {
	Home    string // absolute
	TempDir string // absolute, as the operating system gives it
	WorkDir string // absolute
	// Getenv looks up an environment variable.
	Getenv func(string) string
	// Realpath resolves symbolic links; it fails where the path does not exist.
	Realpath func(string) (string, error)
	// Folders lists the names of the folders in a folder, without symbolic links. It may be nil: then nothing is looked up.
	Folders func(dir string) ([]string, error)
	// Access says whether a path exists and may be read and written. It may be nil: then nothing is known.
	Access func(path string) (exists, read, write bool)
	// Zone is the local time zone.
	Zone *time.Location
	// Terminal names the terminal that the process runs in, for breadcrumbs; "" where there is none.
	Terminal string
}

// Root is one folder where an agent keeps things.
type Root struct {
	// Sessions is the folder below which the logs are.
	Sessions string
	// Blobs is the folder of externalised images, "" where the dialect has none.
	Blobs string
	// Breadcrumbs is the folder of the per-terminal pointers, "" where the dialect has none.
	Breadcrumbs string
	// Driver names the backend.Driver that shows what is in Sessions as logs; "" is the one for plain folders.
	Driver string
}

// Layout says where an agent keeps its logs and how it names them.
type Layout interface {
	// Roots gives the folders that the agent would use here, most specific first (an override by environment
	// variable before the default).
	Roots(env Env) []Root
	// RootAt gives the Root whose base folder (the one that holds "sessions") is dir.
	RootAt(dir string) Root
	// Dir is the folder, relative to Root.Sessions, for sessions of this working directory. Two directories may
	// share a folder: the header's cwd decides, never the folder's name.
	Dir(env Env, cwd string) string
	// File is the file name of a session that begins at t, which is in the local time zone.
	File(t time.Time, id session.ID) string
	// Owns says whether a log of that name (relative to Root.Sessions) is one of this layout's session logs.
	Owns(name string) bool
}

// Summary is what a list shows of a session.
type Summary struct {
	ID      session.ID
	CWD     string
	Title   string // as the agent shows it; "" where none was found in the bytes at hand
	Prompt  string // text of the first user message; "" where it was not found
	Created session.Time
	// Active is the time of the last entry, or what the agent's own list takes for the time of last use; zero Text where
	// the tail does not show it. TailShort then says that a longer one may.
	Active    session.Time
	TailShort bool
	// Messages counts the messages, -1 where it would take reading the whole log.
	Messages int
	Parent   string
	Version  int
	// OK is false where no header could be read from head.
	OK bool
}
