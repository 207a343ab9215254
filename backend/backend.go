// Package backend says what a place is that keeps logs: files by default, memory for tests, a database for a team.
//
// A log is a sequence of records, appended and never changed in place. A backend knows nothing of what a record
// means: it keeps bytes. The names of logs are slash paths (see fs.ValidPath) that a dialect's layout chose, so a log
// can be copied from one backend to another byte for byte.
//
// # Text logs and whole logs
//
// A name that ends in ".jsonl" is a text log: its records are the lines, split at '\n' and nowhere else, without the
// '\n' and without one '\r' before it. A record that is appended must not contain '\n'. Any other name is a log of one
// record, its whole content; only Create and Replace write it.
//
// # Looking before writing
//
// Every mutation takes the Log that the caller last saw and returns the new one. Where the log is no longer what the
// caller saw, nothing is written and the error is ErrConflict: the Log is a compare-and-swap token.
//
// Every method may be called from several goroutines at once.
package backend

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"
)

// Errors that callers tell apart with errors.Is. The error that wraps one of them names the log.
var (
	// ErrNotExist: no log of that name.
	ErrNotExist = errors.New("log does not exist")
	// ErrExist: Create found a log of that name.
	ErrExist = errors.New("log exists already")
	// ErrConflict: the log is not what the caller last saw; nothing was written.
	ErrConflict = errors.New("log was changed by another writer")
	// ErrChanged: while it was being read the log was truncated or replaced. What was read before is still good.
	ErrChanged = errors.New("log was truncated or replaced while it was read")
	// ErrName: the name is not a valid slash path, or the record does not fit the kind of log (a newline in it).
	ErrName = errors.New("invalid log name")
	// ErrRecord: the record cannot be kept in a log of this kind.
	ErrRecord = errors.New("invalid record")
	// ErrReadOnly: this backend does not write.
	ErrReadOnly = errors.New("backend is read-only")
	// ErrClosed: the backend was closed.
	ErrClosed = errors.New("backend is closed")
)

// Log is the identity of a log at one moment.
type Log struct {
	// Name is the slash path of the log.
	Name string
	// Generation is opaque and comparable: it differs whenever the content may differ other than by growth that
	// Size shows. The zero value stands for "does not exist".
	Generation string
	// Size is the number of bytes, newlines included.
	Size int64
	// Time is the last modification.
	Time time.Time
}

// Record is one record as Read yields it.
type Record struct {
	// Offset is where the record begins, in bytes from the start of the log.
	Offset int64
	// Data is the record without its newline. It is valid only until the next step of the iteration: copy what
	// must outlive it.
	Data []byte
	// End is the offset behind the record and its newline: where the next one begins.
	End int64
	// Torn is set on a last record that has no newline: a writer may have been cut off in the middle of it. Whether
	// it is whole all the same is for the dialect to say.
	Torn bool
}

// Backend keeps logs. Implementations are proved by backendtest.Run.
type Backend interface {
	// Create makes a new log that holds these records, all or nothing: no reader ever sees a part of them.
	// ErrExist where the name is taken, ErrName where it is not valid.
	Create(ctx context.Context, name string, records ...[]byte) (Log, error)

	// Append adds records behind the last one, in order, and returns the log as it then is. ErrConflict where the
	// log is not at any more, or is gone; ErrRecord for a record with a newline, or a log that is not text. A last
	// record without newline gets one first, so that no two records ever share a line. After an error other than
	// ErrConflict it is not known how much was written; Stat and Read tell.
	Append(ctx context.Context, at Log, records ...[]byte) (Log, error)

	// Replace puts these records in the place of all there is, atomically: a reader, and a crash, see the old
	// content or the new. ErrConflict as for Append.
	Replace(ctx context.Context, at Log, records ...[]byte) (Log, error)

	// Read yields the records of the log from the given offset, which must be 0 or the End of a record, up to
	// at.Size: what is appended later is not seen. It ends with the first error: ErrNotExist, ErrChanged where the
	// log is shorter than at.Size or was replaced, or the cause of cancellation of ctx. There is no limit to the
	// length of a record.
	Read(ctx context.Context, at Log, offset int64) iter.Seq2[Record, error]

	// Stat says what the log of that name is now; ErrNotExist where there is none.
	Stat(ctx context.Context, name string) (Log, error)

	// List yields the logs whose name begins with prefix, in the byte order of their names. A log that vanishes
	// meanwhile is left out. An error about one folder does not end the list: it is yielded, and the list goes on.
	List(ctx context.Context, prefix string) iter.Seq2[Log, error]

	// Remove deletes the log; ErrConflict where it is not at any more.
	Remove(ctx context.Context, at Log) error

	// Close releases what the backend holds. A second call does nothing. After it every method fails with ErrClosed.
	Close() error
}

// Opener is a Backend that can give random access to a log, for those who look at single records much later than they
// read them. Without it they call Read with the record's offset.
type Opener interface {
	// Open holds the log as at shows it: reading goes on to work when the name is removed or replaced, and
	// reports ErrChanged when the log is truncated under it.
	Open(ctx context.Context, at Log) (Reader, error)
}

// Reader is random access to one log.
type Reader interface {
	io.ReaderAt
	io.Closer
}
