package logtree

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/treeline-dev/treeline/backend"
)

// Tail follows a log. It remembers what the log was when it was last read and how far it was read. It tells
// what became of the log, and yields the new records. Only Tail decides whether a log has grown.
//
// A log has grown if its backend says so: it is the same log, and the bytes before its old end are still there. Some programs
// edit the beginning of a log in place, to set a title, so the bytes up to the end of the header are compared as well. An
// edit in place elsewhere that keeps the length is not noticed.
//
// The zero Tail with Backend and At.Name set has read nothing. A Tail is for one goroutine.
type Tail struct {
	Backend backend.Backend
	// At is the log as it was last read.
	At backend.Log
	// Head is the beginning of the log, up to the end of its header; nil is not compared. See SetHead.
	Head []byte
	// Pos is where the next record begins, Line is how many lines precede it. Unterminated: the last of them has no
	// newline yet. A caller that appends to the log itself sets these fields, together with At.
	Pos          int64
	Line         int
	Unterminated bool
	// Wait keeps a torn record back until it is whole. Without Wait a torn record is yielded as it is.
	Wait bool

	torn     bool   // a torn record at Pos is kept back
	searched int64  // how far that record was searched for a newline
	marks    []mark // records that were read, to tell a truncated log from another one
	held     backend.Renewer
}

// Change is what became of a log.
type Change int

// What a Tail reports.
const (
	// Same: nothing was written.
	Same Change = iota
	// Grown: the log is the same, with more after its old end.
	Grown
	// Edited: the log is the same, grown or not, but its header changed.
	Edited
	// Mended: a torn record that was kept back is gone. All that was read is still there, with or without more after it.
	Mended
	// Truncated: the log is shorter, and what it holds was there before.
	Truncated
	// Replaced: another log has the name.
	Replaced
	// Removed: no log has the name.
	Removed
)

// HeadMost is how many bytes of a log's beginning are compared. Title slots and headers that are edited in place are
// shorter.
const HeadMost = 4 << 10

// SetHead remembers the beginning of the log. end is the offset at which the header ends.
func (t *Tail) SetHead(ctx context.Context, end int64) {
	t.Head = nil
	r, err := backend.OpenLog(ctx, t.Backend, t.At)
	if err != nil {
		return // the log changed, and Stands will report it
	}
	defer r.Close()
	head := make([]byte, min(end, HeadMost, t.At.Size))
	if readFull(r, head, 0) == nil {
		t.Head = head
	}
}

// Look finds out what the log is now, and what became of it.
func (t *Tail) Look(ctx context.Context) (now backend.Log, c Change, err error) {
	now, err = t.Backend.Stat(ctx, t.At.Name)
	if errors.Is(err, backend.ErrNotExist) {
		return now, Removed, nil
	}
	if err != nil {
		return now, Replaced, err
	}
	c, err = t.Compare(ctx, now)
	return now, c, err
}

// Compare says how now, the log as it is, differs from the log as it was read. A log that does not consist of lines is
// written as a whole, so it is Same or Replaced. Compare fails with backend.ErrChanged if the log changed again since now.
func (t *Tail) Compare(ctx context.Context, now backend.Log) (Change, error) {
	if !backend.Lines(t.Backend, now.Name) {
		if now.Same(t.At) {
			return Same, nil
		}
		return Replaced, nil
	}
	// The bytes are compared even if now is equal: the clock of a file system moves in steps, and an edit may fall into the same step.
	stands, err := t.Stands(ctx)
	if err != nil {
		return Replaced, err
	}
	if stands && len(t.Head) == 0 {
		return t.longer(now), nil
	}
	r, err := backend.OpenLog(ctx, t.Backend, now)
	if err != nil {
		return Replaced, err
	}
	defer r.Close()
	switch {
	case stands && t.begins(r, now.Size):
		return t.longer(now), nil
	case stands:
		return Edited, nil
	case !t.holds(r, now.Size):
		return Replaced, nil
	case now.Size < t.Pos:
		return Truncated, nil
	case t.torn:
		return Mended, nil
	}
	return Replaced, nil
}

func (t *Tail) longer(now backend.Log) Change {
	if now.Size == t.At.Size {
		return Same
	}
	return Grown
}

// Stands reports whether the log still holds what was read, as far as its backend can tell. It reads from the old end on:
// the backend then compares the generation, and there are mostly no bytes to read.
func (t *Tail) Stands(ctx context.Context) (bool, error) {
	for _, err := range t.Backend.Read(ctx, t.At, t.At.Size) {
		if errors.Is(err, backend.ErrChanged) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// begins reports whether a log of that size begins as the one that was read.
func (t *Tail) begins(r io.ReaderAt, size int64) bool {
	head := make([]byte, min(int64(len(t.Head)), size))
	return readFull(r, head, 0) == nil && bytes.HasPrefix(t.Head, head)
}

// holds reports whether a log of that size holds, as far as it reaches, what was read: its beginning and the last marked
// record that fits into it.
func (t *Tail) holds(r io.ReaderAt, size int64) bool {
	if !t.begins(r, size) {
		return false
	}
	for i := len(t.marks) - 1; i >= 0; i-- {
		if m := t.marks[i]; m.offset+m.length <= size {
			data := make([]byte, m.length)
			return readFull(r, data, m.offset) == nil && m == markOf(data, m.offset)
		}
	}
	return true
}
