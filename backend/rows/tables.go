package rows

import (
	"context"
	"database/sql"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/durable"
)

// Tables describe how an agent keeps sessions in tables of one SQLite database. Database makes logs of them. A description is data: for an
// agent with another schema, only another value is needed.
//
// # The log of a session
//
// The first record is the row of the session, each further one a row of a message with its parts:
//
//	{"SESSION":{"column":value,…}}
//	{"MESSAGE":{"column":value,…},"PART":[{"column":value,…},{"column":value,…}]}
//
// SESSION, MESSAGE and PART are the names of the tables; columns have the order of the table. Without a table of parts there is no list of
// them; parts whose message does not exist are not shown. A record leaves out what INSERT would fill in by itself: a column that is NULL
// and has no default value, one that has its constant default value, and the hidden ones. JSON columns are included byte for byte, except
// that a line break is a space; if a value is not JSON, the record is invalid, and a dialect reports it. A blob is {"blob":base64}.
//
// So a row that was inserted from a record is read back as the same bytes, whatever columns a later version of the program adds. A record
// for which that would not be so is refused with backend.ErrRecord.
type Tables struct {
	// Agent is the name of the program in messages.
	Agent string
	// Session has a row for each session, Message one for each message. Part has the rows of which messages consist; its
	// Name is "" for an agent without such rows.
	Session, Message, Part Table
	// Migrations is a query for the ids of the schema migrations that were made, as texts. Known are those for which this description was
	// made. A database with any other migration is read and never written. With Known nil nothing is written.
	Migrations string
	Known      []string
	// Complete returns values for the hidden columns of a session that is inserted, and makes the rows that it refers to. It runs in the
	// transaction. nil means that INSERT fills them in.
	Complete func(ctx context.Context, tx *sql.Tx, session Values) (Values, error)
	// Removed deletes what a session leaves in other tables; nil for nothing.
	Removed func(ctx context.Context, tx *sql.Tx, id string) error
	// Touched is called when a session was written, in the same transaction, to update what the program keeps of it in hidden columns and
	// in other tables, such as the time of the last change or a counter; nil for nothing. It must not change what the log shows.
	Touched func(ctx context.Context, tx *sql.Tx, id string, now time.Time) error
	// Lock, if set, takes the lock that the program holds while it writes, and returns how to release it. If the lock is taken, the error
	// is backend.ErrLocked.
	Lock func(ctx context.Context, database string) (release func() error, err error)
	// Busy is how long a write waits for the program; 0 is 5 seconds.
	Busy time.Duration
}

// Table describes a table. Columns that it does not name are shown like any other.
type Table struct {
	Name string
	// ID is the column with the id of a row: of a session the name of its log.
	ID string
	// Session is the column with the id of the session that a message or part belongs to, Message the column with the id of the message
	// that a part belongs to.
	Session, Message string
	// JSON are the columns that hold JSON as text.
	JSON []string
	// Hidden are columns that are not shown, such as a number that the database assigns or a trigger changes.
	Hidden []string
	// Order are the columns that rows are ordered by, "rowid" for the order in which they were inserted.
	Order []string
	// Updated is the column with the time of a row's last change, in units of Unit; the greatest one of the messages and parts of a session
	// is part of its stamp. "" means that the table has no such column. For the session it is the time of the log. A text is a time in UTC,
	// as SQLite spells it. A time in seconds gets the row id of the last message as nanoseconds, which orders sessions of the same second.
	// An append sets it in the row of the session, unless it is hidden: hide it, and set it in Touched, so that an append leaves the first
	// record as it is.
	Updated string
	Unit    time.Duration
}

// Values are values of the columns of one row.
type Values []Value

// Value is the value of a column: int64, float64, string, []byte or nil.
type Value struct {
	Column string
	Value  any
}

// Get returns the value of a column, nil if there is none.
func (v Values) Get(column string) any {
	for _, c := range v {
		if c.Column == column {
			return c.Value
		}
	}
	return nil
}

// Options change how a Database works.
type Options struct {
	// FS is used for times and sizes; nil means the machine's.
	FS durable.FS
	// Clock returns the time of saves; nil means the machine's.
	Clock func() time.Time
}

// NewDatabase returns the Schema of a database file, which need not exist. Reading leaves no trace, even while the program writes. A
// database that does not exist has no sessions and is not made: the program makes its own.
//
// A session is stamped with its row, the numbers of its messages and parts, the greatest time of change among these, and the length of its
// log. A list reads the rows of sessions and only the heads of the rows of messages and parts, not their texts; a later list reads only
// sessions that were written since.
//
// It is safe for concurrent use.
func NewDatabase(path string, t Tables, opt Options) *Database {
	if opt.FS == nil {
		opt.FS = durable.OS{}
	}
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	return newDatabase(path, t, opt)
}

// DatabaseDriver returns the driver for databases that claims recognises. A root is the path of the database file, as if it were a folder;
// the log of a session in it is called by the session's id with the ending ".jsonl".
func DatabaseDriver(name string, t Tables, claims func(path string) bool) backend.Driver {
	return backend.Driver{Name: name, Claims: claims, Open: func(root string, opt backend.OpenOptions) (backend.Backend, error) {
		return New(NewDatabase(root, t, Options{}), ".jsonl", opt.ReadOnly), nil
	}}
}
