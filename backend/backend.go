// Package backend says what a place is that keeps logs: files by default, memory for tests, a database for a team.
//
// A log is a sequence of records, appended and never changed in place. A backend knows nothing of what a record
// means: it keeps bytes. The names of logs are slash paths (see fs.ValidPath) that a dialect's layout chose, so a log
// can be copied from one backend to another byte for byte.
//
// # Text logs and whole logs
//
// A name that ends in ".jsonl" is a text log: its records are the lines, split at '\n' and nowhere else, without the
// '\n' and without one '\r' before it. A record that is appended must not contain '\n'; one that ends in '\r' comes back
// without it (who copies a log byte for byte sees from Record.End that there was one, and appends it again). Any other
// name is a log of one record, its whole content; only Create and Replace write it.
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
	// ErrInterleaved: another writer, one that takes no lock, wrote in the very moment of an append. The records were
	// written, but not where they were meant to be; who wants to know what the log is now reads it from where he last
	// saw it.
	ErrInterleaved = errors.New("another writer wrote into the log at the same moment")
	// ErrLocked: another writer has held the log's lock for too long; nothing was written. The error says who it is,
	// where that is known.
	ErrLocked = errors.New("log is locked by another writer")
	// ErrChanged: while it was being read the log was truncated or replaced. What was read before is still good.
	ErrChanged = errors.New("log was truncated or replaced while it was read")
	// ErrName: the name is not a valid slash path, or not one that this backend can keep.
	ErrName = errors.New("invalid log name")
	// ErrRecord: the record cannot be kept in a log of this kind: a newline in it, or not exactly one in a log that
	// is not text.
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

	// Append adds records behind the last one, in order, and returns the log as it then is: the records are its last
	// bytes. ErrConflict where the log is not at any more, or is gone; ErrRecord for a record with a newline, or a log
	// that is not text. Without records it only compares.
	//
	// No two records ever share a line: a last record without newline gets one first if it is a whole JSON value, and
	// otherwise, being torn, is moved to a log of its own (TornName) and cut off.
	//
	// After an error other than these it is not known how much was written; Stat and Read tell. Cancelling ctx ends the
	// waiting for a lock, not the writing.
	Append(ctx context.Context, at Log, records ...[]byte) (Log, error)

	// Replace puts these records in the place of all there is, atomically: a reader, and a crash, see the old
	// content or the new. ErrConflict as for Append.
	Replace(ctx context.Context, at Log, records ...[]byte) (Log, error)

	// Read yields the records of the log from the given offset, which must be 0 or the End of a record, up to
	// at.Size: what is appended later is not seen. It ends with the first error: ErrNotExist, ErrChanged where the
	// log is shorter than at.Size or was replaced, or the cause of cancellation of ctx. There is no limit to the
	// length of a record. From offset at.Size it yields no record, but ErrChanged all the same: that is how to tell a
	// log that grew from one that was replaced.
	Read(ctx context.Context, at Log, offset int64) iter.Seq2[Record, error]

	// Stat says what the log of that name is now; ErrNotExist where there is none.
	Stat(ctx context.Context, name string) (Log, error)

	// List yields the logs whose name begins with prefix, in the byte order of their names. A log that vanishes
	// meanwhile is left out. An error about one folder does not end the list: it is yielded, with the name of the
	// folder, and the list goes on. A Log from List is good for Read and Open; some backends save effort here and
	// answer a mutation of it with ErrConflict, so call Stat first.
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

// Renewer is a Reader that can go on to what its log has become since it was opened: also when the name leads to another
// log by now, or nowhere.
type Renewer interface {
	Reader
	// Renew has ReadAt read the log as it is now, and gives its size. grew says that it holds what it held, and perhaps
	// more.
	Renew() (size int64, grew bool, err error)
}

// Viewer is a Backend that can show a whole log at once, without copying it.
type Viewer interface {
	// View calls look with the bytes of the log up to at.Size, newlines included. They are valid until look returns, and
	// for its goroutine only. It returns the error of look, or ErrChanged where the log was truncated or replaced
	// meanwhile: look may then have seen bytes that were never the log's, and may have been left in the middle, as by a
	// panic. What look found counts only where View returns nil.
	//
	// Where the log is better read (it is small, or cannot be shown), View does not call look and returns an error that
	// wraps errors.ErrUnsupported.
	View(ctx context.Context, at Log, look func(data []byte) error) error
}

// Syncer is a Backend whose appends may return before they are lasting.
type Syncer interface {
	// Sync returns when all that was written to the log up to now survives a crash of the machine. After an error a
	// later success proves nothing about what was written before: systems forget what they could not write. Who needs
	// certainty writes the log anew, with Replace.
	Sync(ctx context.Context, at Log) error
}

// Sweeper is a Backend in which crashes can leave rubbish behind that is no log.
type Sweeper interface {
	// Sweep removes rubbish that is older than before, and says how much it was.
	Sweep(ctx context.Context, before time.Time) (removed int, err error)
	// Leftovers says how much Sweep would remove.
	Leftovers(ctx context.Context, before time.Time) (int, error)
}

// Restorer is a Backend that can bring back a log as it was, byte for byte: also one whose last record has no newline.
type Restorer interface {
	// Restore makes a new log of this content, under the conditions of Create.
	Restore(ctx context.Context, name string, content []byte) (Log, error)
}

// Watcher is a Backend that tells which logs may have changed, for those who follow them and do not want to ask all the
// time.
type Watcher interface {
	// Watch calls told until the Closer is closed, or the Backend is: with the name of a log that may have been made,
	// changed or removed; with the name of a folder and a slash behind it, where that may be so for any log in it; and with
	// "" where it may be so for all. Close returns when told is not called any more.
	//
	// Only folders that List went through since Watch returned are told of. So call Watch, then List, and List again with
	// what told gave as the prefix where that is no log: then nothing falls between the list and the watch, in folders that
	// were just made neither.
	//
	// told may be called for nothing, several times for one change, and from several goroutines. It must neither block nor
	// call the Backend. Where the system tells nothing, as it is with files that another machine changes, told is not
	// called either: a hint comes sooner than one's own look, and does not replace it. An error beside the name says
	// that something is not told of from now on, and why; the watch goes on.
	Watch(told func(name string, err error)) (io.Closer, error)
}

// Releaser is a Backend that holds something for a log that is written, such as an open file.
type Releaser interface {
	// Release lets go of it. The log may be written again later.
	Release(name string) error
}
