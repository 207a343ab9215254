package logtree

import (
	"bytes"
	"context"
	"errors"

	"github.com/treeline-dev/treeline/backend"
)

// Tail is a log that is followed. It remembers what the log was when it was last read, and says what became of it. It is
// the only place that decides whether a log has grown.
//
// A log has grown if its backend says so: it is the same log, and the bytes before its old end are still there. Programs
// edit the beginning of a log in place, to set a title, so the bytes up to the end of the header are compared as well. An
// edit in place elsewhere that keeps the length is not noticed.
type Tail struct {
	Backend backend.Backend
	// At is the log as it was last read.
	At backend.Log
	// Head is the beginning of the log, up to the end of its header; nil is not compared.
	Head []byte
}

// Change is what became of a log.
type Change int

// What a Tail tells.
const (
	// Same: nothing was written.
	Same Change = iota
	// Grown: the log is what it was, with more after its old end.
	Grown
	// Edited: it is the same log, grown or not, with another header.
	Edited
	// Truncated: the log is shorter and begins as it did.
	Truncated
	// Replaced: another log has the name.
	Replaced
	// Removed: no log has the name.
	Removed
)

// headMost is how many bytes of a log's beginning are compared. Title slots and headers that are edited in place are
// shorter.
const headMost = 4 << 10

// Follow remembers the log as it is at, to be compared later. head is where its header ends; 0 compares no header.
func Follow(ctx context.Context, b backend.Backend, at backend.Log, head int64) Tail {
	t := Tail{Backend: b, At: at}
	if head > 0 {
		t.Head = readHead(ctx, b, at, min(head, headMost))
	}
	return t
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

// Compare says how the log that is now differs from the one that was read.
func (t *Tail) Compare(ctx context.Context, now backend.Log) (Change, error) {
	if now == t.At {
		return Same, nil
	}
	stands, err := t.stands(ctx)
	switch {
	case err != nil:
		return Replaced, err
	case !stands && now.Size < t.At.Size && t.begins(ctx, now):
		return Truncated, nil
	case !stands:
		return Replaced, nil
	case !t.begins(ctx, now):
		return Edited, nil
	case now.Size == t.At.Size:
		return Same, nil
	}
	return Grown, nil
}

// stands reports whether the log still holds what was read. Reading from its old end on is how a backend is asked.
func (t *Tail) stands(ctx context.Context) (bool, error) {
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

// begins reports whether a log begins as the one that was read.
func (t *Tail) begins(ctx context.Context, now backend.Log) bool {
	head := t.Head[:min(int64(len(t.Head)), now.Size)]
	return bytes.Equal(readHead(ctx, t.Backend, now, int64(len(head))), head)
}

func readHead(ctx context.Context, b backend.Backend, at backend.Log, size int64) []byte {
	size = min(size, at.Size)
	if size == 0 {
		return nil
	}
	r, err := backend.OpenLog(ctx, b, at)
	if err != nil {
		return nil
	}
	defer r.Close()
	head := make([]byte, size)
	if readFull(r, head, 0) != nil {
		return nil // equal to no beginning that was ever read
	}
	return head
}
