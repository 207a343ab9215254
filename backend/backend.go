// Package backend defines what a place that keeps logs can do: files by default, memory for tests, a database for a team.
//
// A log is a sequence of records, appended and never changed in place. A backend stores bytes and does not know what a
// record means. The names of logs are slash paths (see fs.ValidPath) chosen by a dialect's layout, so a log can be copied
// from one backend to another byte for byte.
//
// # Logs of lines and whole logs
//
// The backend says whether a log consists of lines (see Lines); by default it does if its name ends in ".jsonl". Its
// records are then the lines, split at '\n' and nowhere else, without the '\n' and without one '\r' before it. An appended
// record must not contain '\n'. A record that ends in '\r' is read back without it; Record.End shows that it was there.
// Any other log is one record, its whole content; only Create and Replace write it.
//
// # Compare and swap
//
// Every mutation takes the Log that the caller last saw and returns the new one. If the log has changed since, nothing is
// written and the error is ErrConflict: the Log is a compare-and-swap token.
//
// # Optional interfaces
//
// A capability that only some backends have is an interface of its own, found by a type assertion or through a function of
// this package that falls back to the eight methods. A new backend works without any of them.
//
//   - Liner: logs are lines by another rule than the ending of their names. Lines asks it.
//   - Expander: logs can be stored compressed. Compressed and Expand ask it.
//   - Opener: part of a log can be read without reading all of it. OpenLog, ReadAll and Ends use it, and otherwise read
//     the whole log into memory. Implement it unless logs are small.
//   - NowOpener, and RecordReader for its Readers: Stat, Open and Read of a log need only one open. OpenNow and Records use
//     them. Implement them if opening a log costs much.
//   - Renewer: a Reader of an Opener can follow its log as it grows. Implement it if another process can append.
//   - EndReader: both ends of a log are cheaper to read than by Open. Lists of many logs need it. Ends uses it.
//   - Glimpser: names are cheaper to list than Logs. Lists of many logs need it.
//   - ViewReader for Readers: a log can be shown without copying it.
//   - Syncer: an append can return before it is durable. Sync calls it.
//   - Watcher: changes are reported as they happen, so that followers need not poll.
//   - Foldered: folders are cheaper to list than logs. Archives need it. Folders uses it.
//   - Scattered: logs are in several places, some of which may not be there now. Absent asks it.
//   - Identified: an archive can be distinguished from others. Archives need it.
//   - Sourced: all sources of an archive can be listed at once. Archives of many machines need it.
//   - Mirror: exact copies of other backends' logs can be kept. Archives need it.
//   - Streamer: a log can be created from records that come one after the other. CreateFrom calls it. Implement it unless
//     logs are small.
//   - Restorer: a log can be created from exact bytes, including an unterminated last line. Restore calls it.
//   - Dater: a restored log can keep the time at which it was last changed. RestoreAt calls it.
//   - Sweeper: a crash can leave files that are not logs.
//   - Rewriter: programs that take no lock can write to a log while it is replaced or removed. Replace and Remove call it.
//   - Holder: it is known which programs without a lock have a log open. Holders calls it.
//   - Releaser: something is held for a log that is written, such as an open file. Release calls it.
//
// All methods may be called from several goroutines at once.
package backend

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// Errors that callers tell apart with errors.Is. The error that wraps one of them names the log.
var (
	// ErrNotExist: there is no log of that name.
	ErrNotExist = errors.New("log does not exist")
	// ErrExist: Create found a log of that name.
	ErrExist = errors.New("log exists already")
	// ErrConflict: the log is not what the caller last saw; nothing was written.
	ErrConflict = errors.New("log was changed by another writer")
	// ErrInterleaved: a writer that takes no lock wrote during an append. The records were written, but not at the
	// expected offset. Read from the last known size to learn what the log holds now.
	ErrInterleaved = errors.New("another writer wrote into the log at the same moment")
	// ErrLocked: another writer held the log's lock for too long; nothing was written. The error names its process if
	// the system tells.
	ErrLocked = errors.New("log is locked by another writer")
	// ErrHeld: another program has the log open for writing, so it cannot be replaced or removed: what that program
	// writes afterwards would be lost. Nothing was changed. The error names the program if the system tells.
	ErrHeld = errors.New("log is open for writing in another program")
	// ErrChanged: the log was truncated or replaced while it was read. The records read before are still good.
	ErrChanged = errors.New("log was truncated or replaced while it was read")
	// ErrName: the name is not a valid slash path, or this backend cannot store it.
	ErrName = errors.New("invalid log name")
	// ErrRecord: the log cannot hold the record: it contains a newline, or a whole log would not have exactly one.
	ErrRecord = errors.New("invalid record")
	// ErrCompressed: the log is stored compressed and only read. Expand it first; see Expander.
	ErrCompressed = errors.New("log is compressed and must be expanded before it is written")
	// ErrReadOnly: this backend does not write.
	ErrReadOnly = errors.New("it is read-only")
	// ErrForbidden: a server does not let this caller do it.
	ErrForbidden = errors.New("the server does not allow it")
	// ErrClosed: the backend was closed.
	ErrClosed = errors.New("backend is closed")
)

// DamageError is the error for a log that cannot be read because a file that the backend makes it from is damaged. Where
// logs are files, the dialect reports the damage instead.
type DamageError struct {
	// File is the path of the file. Line counts from 1, Offset is in bytes; both are those of the file.
	File   string
	Line   int
	Offset int64
	// Message says what is wrong, Advice what was kept.
	Message, Advice string
}

// Error says where, what, and what was kept.
func (e *DamageError) Error() string {
	return fmt.Sprintf("%s:%d (byte %d): %s; %s", e.File, e.Line, e.Offset, e.Message, e.Advice)
}

// LongLineError is the error for a line that is longer than a backend reads, which is a gigabyte, such as the NUL bytes of a sparse file. The
// log is read up to that line, and not appended to.
type LongLineError struct {
	// File names the log. Line counts from 1, and is 0 if it is not known; Offset is where the line begins.
	File   string
	Line   int
	Offset int64
	// Most is the limit in bytes.
	Most int
}

// Error says where the line is, and what to do.
func (e *LongLineError) Error() string {
	where := fmt.Sprintf("%s (byte %d)", e.File, e.Offset)
	if e.Line > 0 {
		where = fmt.Sprintf("%s:%d (byte %d)", e.File, e.Line, e.Offset)
	}
	return where + ": " + e.Message() + "; " + e.Advice()
}

// Message says what is wrong.
func (e *LongLineError) Message() string {
	return fmt.Sprintf("the line is longer than %d bytes", e.Most)
}

// Advice says what was kept, and what to do.
func (e *LongLineError) Advice() string {
	advice := "it was not read, nor what follows it, and nothing was changed"
	if e.Offset > 0 {
		advice += fmt.Sprintf("; to go on, copy the file, then cut it to %d bytes", e.Offset)
	}
	return advice
}

// LongLine turns the error of a splitter whose line is too long into a *LongLineError, and leaves any other error as it is.
func LongLine(name string, err error) error {
	var long interface {
		LongLine() (offset int64, most int)
	}
	if err != nil && errors.As(err, &long) {
		offset, most := long.LongLine()
		return &LongLineError{File: name, Offset: offset, Most: most}
	}
	return err
}

// Log is the identity of a log at one moment.
type Log struct {
	// Name is the slash path of the log.
	Name string
	// Generation is opaque and comparable. It differs whenever the content may have changed other than by growth,
	// which Size shows. The zero value stands for a log that does not exist.
	Generation string
	// Size is the number of bytes, newlines included.
	Size int64
	// Time is the last modification.
	Time time.Time
	// Changed is when anything about the log last changed, its name included, in nanoseconds since 1970. Programs can set
	// Time, but not Changed. It is 0 if the backend cannot tell, and in what a mutation returns.
	Changed int64
}

// Same reports whether both are the same content of the same log, as far as Generation, Size and Time tell.
func (l Log) Same(m Log) bool {
	l.Changed, m.Changed = 0, 0
	return l == m
}

// Record is one record as Read yields it.
type Record struct {
	// Offset is where the record begins, in bytes from the start of the log.
	Offset int64
	// Data is the record without its newline. It is valid until the next step of the iteration; copy what must
	// outlive it.
	Data []byte
	// End is the offset after the record and its newline, where the next record begins.
	End int64
	// Torn marks a last record without a newline: its writer may have been cut off. The dialect decides whether the
	// record is complete all the same.
	Torn bool
}

// Backend keeps logs. Implementations are tested by backendtest.Run.
//
// Records belong to the caller again once a method has returned without an error: a backend copies what it keeps.
type Backend interface {
	// Create makes a new log of these records, all or nothing: no reader sees a part of them.
	// ErrExist if the name is in use, ErrName if it is not valid. As in a file system, no log is below another log: Create
	// fails for a name below that of a log, and for the name of a folder that holds logs.
	Create(ctx context.Context, name string, records ...[]byte) (Log, error)

	// Append adds records after the last one, in order, and returns the log as it is then: the records are its last
	// bytes. ErrConflict if the log is no longer at, or is gone; ErrRecord for a record with a newline, or a whole
	// log. Without records it only compares.
	//
	// No two records ever share a line. An unterminated last line gets its newline first if it is a complete JSON
	// value. Otherwise it is torn: it is moved to a log of its own (see TornName) and cut off.
	//
	// Cancelling ctx ends the wait for a lock, not a write: if the error is the cause of ctx, nothing was written and
	// nothing will be. After any other error it is unknown how much was written; Stat and Read tell.
	Append(ctx context.Context, at Log, records ...[]byte) (Log, error)

	// Replace replaces the whole content by these records, atomically: a reader, and a crash, see the old content or
	// the new. ErrConflict as for Append.
	Replace(ctx context.Context, at Log, records ...[]byte) (Log, error)

	// Read yields the records of the log from offset, which must be 0 or the End of a record, up to at.Size; records
	// appended later are not seen. A line may have a gigabyte. Read ends at the first error: ErrNotExist, a
	// *LongLineError, ErrChanged if the log is shorter than at.Size or was replaced, or the cause of ctx. From offset
	// at.Size it yields no record, and ErrChanged unless the log is the same or has grown.
	Read(ctx context.Context, at Log, offset int64) iter.Seq2[Record, error]

	// Stat returns the log of that name as it is now, or ErrNotExist.
	Stat(ctx context.Context, name string) (Log, error)

	// List yields the logs whose name begins with prefix, in byte order of their names. A log that vanishes
	// meanwhile is left out. An error about one folder is yielded with the name of the folder, and the list goes on.
	// A Log from List is good for Read and Open. A backend may answer a mutation of it with ErrConflict; call Stat
	// first.
	List(ctx context.Context, prefix string) iter.Seq2[Log, error]

	// Remove deletes the log; ErrConflict if it is no longer at.
	Remove(ctx context.Context, at Log) error

	// Close releases what the backend holds. A second call does nothing. After Close every method returns ErrClosed.
	Close() error
}
