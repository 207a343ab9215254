// Package rows shows sessions that an agent keeps in a database as logs.
//
// Such an agent saves a session whole: a row, and its messages in other rows or in a file. A Schema knows one agent's
// tables and files; Backend turns what it loads into a log, so that all code that reads and appends logs works on it. For an
// agent with nothing but tables in SQLite, Tables describes them and Database is the Schema.
//
// # The log of a session
//
//	header     what the agent keeps of the session besides its messages, if the schema has a header
//	message    one record for each message
//
// Such a log consists of lines, whatever its name. The name is the session's id and an ending that the Schema's place uses. If the messages
// are lines of a file, line n of the file is line n+1 of the log.
//
// # Appending
//
// An append saves the session with more messages. The header may hold the time of the last save, so an append may change
// it; it never changes the header's length, because readers keep the offsets of messages. A log has grown if its header is
// as long as before and the old messages are the first of the new ones, even if the agent changed other members of the
// header. Mutations are stricter: they fail with ErrConflict after any save by another writer. A torn message is moved to a file
// of its own first, if the schema can keep it (Keeper).
//
// Rows of a Database may change in any way at any time. Its logs are the same as long as their stamp is. A log has grown if
// this Backend has loaded it before and finds the old messages at its beginning.
//
// # Adding an agent
//
// Make a folder below this one with Tables, or with a Schema, and a backend.Driver, and add the driver to backend/all.
package rows

import (
	"context"
	"time"
)

// Session is one session as a Schema loads and saves it.
type Session struct {
	ID string
	// Header is the first record of the log, nil if the schema's logs have none.
	Header []byte
	// Messages are the other records. None of them contains a newline. A line of the agent's file that is not a message is
	// one of them too: a dialect reports it.
	Messages [][]byte
	// Torn: the last of Messages is torn (see backend.Record).
	Torn bool
	// Restored: in a save, a log is restored as it was, with its damage.
	Restored bool
	// Time is when the session was last saved. Save ignores it.
	Time time.Time
	// Version is the compare-and-swap token: it differs after every save that changed something. "" means that the session
	// does not exist.
	Version string

	// text is the log if it is available in one piece; its messages begin at start.
	text  []byte
	start int
	// kept is how many messages an append found. They must still be there: a version may not show a change that follows another one
	// immediately.
	kept int
}

// Schema keeps the sessions of one agent in the agent's own tables and files.
//
// Reading leaves no trace: no file is made and no modification time changes. Every method may be called from several
// goroutines and processes at once. An id that the schema cannot keep is refused with backend.ErrName, a session that does
// not exist with backend.ErrNotExist.
type Schema interface {
	// List returns the ids of all sessions, in any order. It includes sessions that Load cannot read.
	List(ctx context.Context) ([]string, error)
	// Load returns a session. Damaged records are among its Messages; a session that cannot be split into records is a
	// *backend.DamageError.
	Load(ctx context.Context, id string) (Session, error)
	// Parse returns the session for the records of a log, without a Version. It copies what it keeps. It fails with backend.ErrRecord if
	// the first is not a header, and with backend.ErrName if it is the header of another session.
	Parse(id string, records [][]byte) (Session, error)
	// Touch returns the header of a session that is saved now.
	Touch(header []byte) []byte
	// Save replaces a session, all or nothing: a reader, and a crash, see the old state or the new one. It fails with
	// backend.ErrConflict, and saves nothing, if the session's version is not s.Version. A record that is not a message is
	// backend.ErrRecord, unless the session has it already or is Restored.
	Save(ctx context.Context, s Session) error
	// Remove deletes a session; backend.ErrConflict if its version is another.
	Remove(ctx context.Context, id, version string) error
}

// Keeper is a Schema that can keep files beside its sessions: torn records, and logs as they were before a repair.
type Keeper interface {
	// Keep makes a file. Its name is that of a log with a suffix. It fails with backend.ErrExist if the file exists.
	Keep(name string, content []byte) error
	// Discard removes such a file.
	Discard(name string) error
	// Now returns the time for the names of torn records.
	Now() time.Time
}

// Stamper is a Schema that finds the versions of all sessions at less cost than by loading them. A log's generation is then the version
// alone.
type Stamper interface {
	// Stamps returns all sessions as they are now, in any order. Version is what Load returns as long as nothing changed.
	Stamps(ctx context.Context) ([]Stamp, error)
}

// Scattered is a Schema with several databases; see backend.Scattered.
type Scattered interface {
	// Absent returns the prefixes of the ids of sessions whose database is absent.
	Absent(ctx context.Context) (prefixes []string, err error)
}

// Stamp describes a session in a list.
type Stamp struct {
	ID, Version string
	// Size is the length of the log, Header its first record.
	Size   int64
	Time   time.Time
	Header []byte
	// Err is why the sessions of the folder ID cannot be listed; nil for a session.
	Err error
}
