package backend

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"
)

// Liner is a Backend that has its own rule for which logs consist of lines, for example for compressed logs or rows of a database.
type Liner interface {
	// Lines reports whether the log of that name consists of lines. The answer never changes for a name.
	Lines(name string) bool
}

// Lines reports whether the log of that name consists of lines in b: what a Liner says, otherwise IsText.
func Lines(b Backend, name string) bool {
	if l, ok := b.(Liner); ok {
		return l.Lines(name)
	}
	return IsText(name)
}

// Expander is a Backend in which a log of lines can be stored compressed. It is read like any other: Size and offsets are
// those of its content. Every mutation of it returns ErrCompressed.
type Expander interface {
	// Compressed reports whether the log of that name is stored compressed. The answer never changes for a name.
	Compressed(name string) bool
	// Expand stores a compressed log plainly, under another name in the same folder, and removes the compressed one. It
	// returns the plain log. A crash leaves the compressed log, or the plain one, or both with the same content; then List
	// shows only the plain one. ErrConflict if the log is no longer at, ErrExist if the plain log exists already.
	Expand(ctx context.Context, at Log) (Log, error)
}

// Compressed reports whether a log must be expanded before it is written; see Expander.
func Compressed(b Backend, name string) bool {
	e, ok := b.(Expander)
	return ok && e.Compressed(name)
}

// Expand expands the log of that name if it is compressed, and returns the name of the log that can be written.
func Expand(ctx context.Context, b Backend, name string) (string, error) {
	e, ok := b.(Expander)
	if !ok || !e.Compressed(name) {
		return name, nil
	}
	at, err := b.Stat(ctx, name)
	if err != nil {
		return name, err
	}
	plain, err := e.Expand(ctx, at)
	return plain.Name, err
}

// Opener is a Backend with random access to a log.
type Opener interface {
	// Open holds the log as at shows it. Reading works on after the name is removed or replaced, and returns
	// ErrChanged once the log is truncated.
	Open(ctx context.Context, at Log) (Reader, error)
}

// Reader is random access to one log.
type Reader interface {
	io.ReaderAt
	io.Closer
}

// Renewer is a Reader that can follow its log as it grows, even after the name was removed or given to another log.
type Renewer interface {
	RecordReader
	// Renew makes ReadAt and Records read the log as it is now, and returns its size. grew reports that the old content is still
	// there, possibly with more after it.
	Renew() (size int64, grew bool, err error)
}

// NowOpener is a Backend that does Stat and Open in one step.
type NowOpener interface {
	// OpenNow returns the log of that name as it is now, and holds it like Open.
	OpenNow(ctx context.Context, name string) (Log, Reader, error)
}

// OpenNow returns a log as it is now and opens it for random access. Without a NowOpener it calls Stat and OpenLog.
func OpenNow(ctx context.Context, b Backend, name string) (Log, Reader, error) {
	if o, ok := b.(NowOpener); ok {
		return o.OpenNow(ctx, name)
	}
	at, err := b.Stat(ctx, name)
	if err != nil {
		return Log{}, nil, err
	}
	r, err := OpenLog(ctx, b, at)
	return at, r, err
}

// RecordReader is a Reader that yields the records of its log, without opening it again.
type RecordReader interface {
	Reader
	// Records is Backend.Read for the log as it was opened, or as Renew last found it.
	Records(ctx context.Context, offset int64) iter.Seq2[Record, error]
}

// Records yields the records of an open log. Without a RecordReader it calls Read.
func Records(ctx context.Context, b Backend, at Log, r Reader, offset int64) iter.Seq2[Record, error] {
	if rr, ok := r.(RecordReader); ok {
		return rr.Records(ctx, offset)
	}
	return b.Read(ctx, at, offset)
}

// OpenLog opens a log for random access. Without an Opener the Reader is a copy in memory.
func OpenLog(ctx context.Context, b Backend, at Log) (Reader, error) {
	if o, ok := b.(Opener); ok {
		return o.Open(ctx, at)
	}
	var all []byte
	for r, err := range b.Read(ctx, at, 0) {
		if err != nil {
			return nil, err
		}
		all = append(all, r.Data...)
		// Read drops a newline and at most one '\r' before it, so the distance from the data to End tells which.
		switch r.End - r.Offset - int64(len(r.Data)) {
		case 1:
			all = append(all, '\n')
		case 2:
			all = append(all, '\r', '\n')
		}
	}
	return NewReader(all), nil
}

// NewReader returns a Reader of these bytes. There is nothing to close.
func NewReader(content []byte) Reader { return memoryReader{bytes.NewReader(content)} }

type memoryReader struct{ *bytes.Reader }

func (memoryReader) Close() error { return nil }

// ReadAll returns the exact bytes of a log up to at.Size, newlines included.
func ReadAll(ctx context.Context, b Backend, at Log) ([]byte, error) {
	r, err := OpenLog(ctx, b, at)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	// Beyond a usual size the memory grows with what comes, not with what a server promises.
	all := make([]byte, min(max(at.Size, 0), promised))
	for from := 0; ; {
		if err := ReadFull(r, at.Name, all[from:], int64(from)); err != nil || int64(len(all)) >= at.Size {
			return all, err
		}
		from = len(all)
		all = append(all, make([]byte, min(int64(from), at.Size-int64(from)))...)
	}
}

// promised is how much memory ReadAll takes for a log before it has read anything.
const promised = 256 << 20

// ReadFull fills p with the bytes of an open log at an offset, and returns ErrChanged if the log ends before that.
func ReadFull(r io.ReaderAt, name string, p []byte, offset int64) error {
	if len(p) == 0 {
		return nil
	}
	n, err := r.ReadAt(p, offset)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = fmt.Errorf("%s: %w", name, ErrChanged)
	}
	return err
}

// EndReader is a Backend that reads both ends of a log at less cost than an Opener.
type EndReader interface {
	// Ends reads the first bytes of a log into head and the last ones into tail, as many as each has room for; tail
	// gets only bytes that head does not reach. It returns how many bytes it read into each. It is for lists: a
	// change of the log since at may go unnoticed, unless the log became shorter, which is ErrChanged.
	Ends(ctx context.Context, at Log, head, tail []byte) (inHead, inTail int, err error)
}

// Ends reads both ends of a log, as EndReader describes it, from any Backend.
func Ends(ctx context.Context, b Backend, at Log, head, tail []byte) (inHead, inTail int, err error) {
	if e, ok := b.(EndReader); ok {
		return e.Ends(ctx, at, head, tail)
	}
	r, err := OpenLog(ctx, b, at)
	if err != nil {
		return 0, 0, err
	}
	defer r.Close()
	return ReadEnds(r, at, head, tail)
}

// ReadEnds reads both ends of an open log, for backends that implement EndReader.
func ReadEnds(r io.ReaderAt, at Log, head, tail []byte) (inHead, inTail int, err error) {
	inHead = int(min(int64(len(head)), at.Size))
	inTail = int(min(int64(len(tail)), at.Size-int64(inHead)))
	if err := ReadFull(r, at.Name, head[:inHead], 0); err != nil {
		return 0, 0, err
	}
	if err := ReadFull(r, at.Name, tail[:inTail], at.Size-int64(inTail)); err != nil {
		return 0, 0, err
	}
	return inHead, inTail, nil
}

// Glimpser is a Backend that lists names at less cost than Logs, and returns a Log together with its ends.
type Glimpser interface {
	// Names is List with nothing but the names filled in. Some of the logs may be gone.
	Names(ctx context.Context, prefix string) iter.Seq2[Log, error]
	// Glimpse returns the log of that name, as List would, and its content: all of it as head if room can hold it.
	// Otherwise end is the last tail bytes of the log and head as many of the first as fit into the rest of room. If
	// the log cannot be read, at is still filled in as far as it is known. A backend in which only the first record is at
	// hand may give that alone.
	Glimpse(ctx context.Context, name string, room []byte, tail int) (at Log, head, end []byte, err error)
}

// ViewReader is a Reader that can show its log without copying it.
type ViewReader interface {
	Reader
	// View calls look with size bytes of the log as it was opened, from an offset on, newlines included. They are valid
	// until look returns, and only in its goroutine. View returns the error of look, or ErrChanged if the log was
	// truncated or replaced meanwhile: look may then have seen bytes that were never in the log, and may have been left
	// by a panic. Use what look found only if View returns nil.
	//
	// If reading is better (the log is small, or cannot be shown), View does not call look and returns an error that
	// wraps errors.ErrUnsupported.
	View(from, size int64, look func(data []byte) error) error
}

// Syncer is a Backend whose appends can return before they are durable.
type Syncer interface {
	// Sync returns when everything written to the log so far survives a crash of the machine. After an error a later
	// success proves nothing about earlier writes: systems forget what they could not write. Replace the log to be
	// certain.
	Sync(ctx context.Context, at Log) error
}

// Sync makes durable what was written to a log. It does nothing if the Backend is not a Syncer.
func Sync(ctx context.Context, b Backend, at Log) error {
	if s, ok := b.(Syncer); ok {
		return s.Sync(ctx, at)
	}
	return nil
}

// Watcher is a Backend that reports which logs may have changed.
type Watcher interface {
	// Watch calls told until the Closer or the Backend is closed: with the name of a log that may have been created,
	// changed or removed; with the name of a folder and a slash if any log in it may have been; with "" if any log
	// may have been. After Close returns, told is not called again.
	//
	// Only folders that List has visited since Watch returned are covered. So call Watch, then List, and List again
	// with what told received as the prefix if that is not a log. Then no change is missed, including changes in
	// folders created in between.
	//
	// told may be called without a change, several times for one change, and from several goroutines. It must neither
	// block nor call the Backend. A system may report nothing, for instance about files that another machine changes:
	// calls are hints that come early and do not replace polling. An error passed with the name says what is not
	// covered from now on; the watch goes on.
	Watch(told func(name string, err error)) (io.Closer, error)
}

// Restorer is a Backend that can create a log from its exact bytes, even if the last line is unterminated.
type Restorer interface {
	// Restore makes a new log of this content, under the conditions of Create.
	Restore(ctx context.Context, name string, content []byte) (Log, error)
}

// Dater is a Restorer whose logs can have the time at which they were last changed somewhere else.
type Dater interface {
	Restorer
	// RestoreAt is Restore of a log whose Time is at, as far as the backend can.
	RestoreAt(ctx context.Context, name string, content []byte, at time.Time) (Log, error)
}

// Restore creates a log from its exact bytes. If the Backend is not a Restorer, an unterminated last line fails with
// errors.ErrUnsupported: Create would terminate it.
func Restore(ctx context.Context, b Backend, name string, content []byte) (Log, error) {
	if r, ok := b.(Restorer); ok {
		return r.Restore(ctx, name, content)
	}
	if !Lines(b, name) {
		return b.Create(ctx, name, content)
	}
	var records [][]byte
	for line := range bytes.Lines(content) {
		record, whole := bytes.CutSuffix(line, []byte{'\n'})
		if !whole {
			return Log{}, fmt.Errorf("%s: restoring an unterminated line: %w", name, errors.ErrUnsupported)
		}
		records = append(records, record)
	}
	return b.Create(ctx, name, records...)
}

// RestoreAt is Restore of a log that was last changed at that time. Only a Dater keeps the time.
func RestoreAt(ctx context.Context, b Backend, name string, content []byte, when time.Time) (Log, error) {
	if d, ok := b.(Dater); ok {
		return d.RestoreAt(ctx, name, content, when)
	}
	return Restore(ctx, b, name, content)
}

// RestoreOnce restores a log, unless it exists already with the same content: so an interrupted restore can be repeated. When it returns,
// the content is durable in both cases, and its source may be removed. The log has its time as in RestoreAt. made: the log is new.
func RestoreOnce(ctx context.Context, b Backend, name string, content []byte, when time.Time) (at Log, made bool, err error) {
	at, err = RestoreAt(ctx, b, name, content, when)
	if made = err == nil; errors.Is(err, ErrExist) {
		there, failed := b.Stat(ctx, name)
		if failed != nil || there.Size != int64(len(content)) {
			return at, false, errors.Join(err, failed)
		}
		if have, failed := ReadAll(ctx, b, there); failed != nil || !bytes.Equal(have, content) {
			return at, false, errors.Join(err, failed)
		}
		at, err = there, nil
	}
	if err != nil {
		return at, made, err
	}
	return at, made, Sync(ctx, b, at)
}

// Rewriter is a Backend in which another program can write to a log while it is replaced or removed.
type Rewriter interface {
	// ReplaceShared is Replace, and returns what other programs wrote meanwhile.
	ReplaceShared(ctx context.Context, at Log, opt RewriteOptions, records ...[]byte) (Log, Late, error)
	// RemoveShared is Remove, and returns what other programs wrote meanwhile.
	RemoveShared(ctx context.Context, at Log, opt RewriteOptions) (Late, error)
}

// RewriteOptions say how a Rewriter deals with other programs. The zero value is what Backend.Replace and Remove do.
type RewriteOptions struct {
	// Force replaces or removes a log that another program has open for writing. Otherwise that is ErrHeld.
	Force bool
	// Grown treats lines that were appended since the caller saw the log as late ones. Otherwise they are ErrConflict. A caller whose
	// rewrites conflict again and again sets it to make progress.
	Grown bool
	// Keep gets the records that Grown allows, before RemoveShared removes the log, and makes them durable elsewhere. Those records are not
	// in Late.Records. Without Keep they are only in memory after the removal, and are lost if the process is killed then. If Keep fails,
	// the log stays.
	Keep func(records [][]byte) error
}

// Late is what other programs did to a log while it was replaced or removed.
type Late struct {
	// Records were written to the old log after the caller last saw it. ReplaceShared adds them to the new log, and the Log that it returns
	// has them. For a removed log they are only here.
	Records [][]byte
	// Kept is the number of records that RewriteOptions.Keep got.
	Kept int
	// Holders are programs that still have the old log open for writing, which happens only with Force. What they write from now on is
	// lost.
	Holders []string
}

// Replace replaces a log of any Backend; see Rewriter.
func Replace(ctx context.Context, b Backend, at Log, opt RewriteOptions, records ...[]byte) (Log, Late, error) {
	if r, ok := b.(Rewriter); ok {
		return r.ReplaceShared(ctx, at, opt, records...)
	}
	now, err := b.Replace(ctx, at, records...)
	return now, Late{}, err
}

// Remove removes a log of any Backend; see Rewriter.
func Remove(ctx context.Context, b Backend, at Log, opt RewriteOptions) (Late, error) {
	if r, ok := b.(Rewriter); ok {
		return r.RemoveShared(ctx, at, opt)
	}
	return Late{}, b.Remove(ctx, at)
}

// Sweeper is a Backend in which a crash can leave files that are not logs.
type Sweeper interface {
	// Sweep finds such files that are older than before, removes them if remove is set, and returns how many they are.
	Sweep(ctx context.Context, before time.Time, remove bool) (found int, err error)
}

// Holder is a Backend that can tell which programs have a log open for writing.
type Holder interface {
	// Holders names the programs that take no lock and keep the log open for writing. It is empty if the system does not tell.
	Holders(ctx context.Context, name string) ([]string, error)
}

// Holders names the programs that have a log of any Backend open for writing; none if it is not a Holder.
func Holders(ctx context.Context, b Backend, name string) ([]string, error) {
	if h, ok := b.(Holder); ok {
		return h.Holders(ctx, name)
	}
	return nil, nil
}

// Releaser is a Backend that holds something for a log that is written, such as an open file.
type Releaser interface {
	// Release releases what is held. The log may be written again later.
	Release(name string) error
}

// Release releases what a Backend holds for a log. It does nothing if the Backend is not a Releaser.
func Release(b Backend, name string) error {
	if r, ok := b.(Releaser); ok {
		return r.Release(name)
	}
	return nil
}
