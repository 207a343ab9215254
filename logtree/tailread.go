package logtree

import (
	"bytes"
	"context"
	"hash/crc32"
	"iter"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
)

// longLine is the length from which an unterminated line is no longer parsed each time it grows. Only the new bytes are
// searched for the newline: a record of a hundred megabytes may arrive in a thousand pieces and must not be read a thousand
// times.
const longLine = 1 << 20

// Records yields the records of now from Pos on, and advances At, Pos and Line. Call it after Compare said that the log has
// grown, or after Rewind. After an error, or a break, At stays and the next call continues after the last record.
//
// A whole record without newline is yielded with Torn set, since a log may end so. What is later appended to its line is a
// record with the same line number. A log that does not consist of lines is yielded from its beginning.
func (t *Tail) Records(ctx context.Context, now backend.Log) iter.Seq2[dialect.Record, error] {
	return func(yield func(dialect.Record, error) bool) { t.records(ctx, now, yield) }
}

func (t *Tail) records(ctx context.Context, now backend.Log, yield func(dialect.Record, error) bool) {
	if !backend.Lines(t.Backend, now.Name) {
		for r, err := range Records(ctx, t.Backend, now) {
			if !yield(r, err) || err != nil {
				return
			}
		}
		t.At, t.Pos = now, now.Size
		return
	}
	if t.torn && now.Size-t.Pos > longLine {
		ended, err := t.lineEnds(ctx, now)
		if err != nil {
			yield(dialect.Record{}, err)
			return
		}
		if !ended {
			t.At = now
			return
		}
	}
	t.torn = false
	for r, err := range t.Backend.Read(ctx, now, t.Pos) {
		if err != nil {
			line := t.Line + 1
			if t.Unterminated {
				line--
			}
			yield(dialect.Record{}, OnLine(err, line))
			return
		}
		if t.Wait && r.Torn && (len(r.Data) > longLine || !IsWhole(r.Data)) {
			t.torn, t.searched = true, r.End
			break
		}
		if line, ok := t.next(r); ok && !yield(line, nil) {
			return
		}
	}
	t.At = now
}

// next counts a record that was read. ok is false if the record only ends a line that was already yielded without its newline.
func (t *Tail) next(r backend.Record) (line dialect.Record, ok bool) {
	rest := t.Unterminated
	if !rest {
		t.Line++
	}
	t.Pos, t.Unterminated = r.End, r.Torn
	if rest && len(bytes.TrimSpace(r.Data)) == 0 {
		return line, false
	}
	t.mark(r.Data, r.Offset)
	return dialect.Record{Data: r.Data, Offset: r.Offset, Line: t.Line, Torn: r.Torn}, true
}

// lineEnds reports whether there is a newline in what was appended to a torn record since it was last searched.
func (t *Tail) lineEnds(ctx context.Context, now backend.Log) (bool, error) {
	r, err := backend.OpenLog(ctx, t.Backend, now)
	if err != nil {
		return false, err
	}
	defer r.Close()
	for t.searched < now.Size {
		piece := make([]byte, min(now.Size-t.searched, longLine))
		if err := readFull(r, piece, t.searched); err != nil {
			return false, err
		}
		if bytes.IndexByte(piece, '\n') >= 0 {
			return true, nil
		}
		t.searched += int64(len(piece))
	}
	return false, nil
}

// Rewind makes Records begin at the start of the log. A log that is held stays held.
func (t *Tail) Rewind() {
	t.Pos, t.Line, t.Unterminated, t.torn, t.searched, t.marks = 0, 0, false, false, 0, nil
}

// IsWhole reports whether an unterminated line is a whole record. A prefix of an object is never valid JSON.
func IsWhole(line []byte) bool {
	line = dialect.TrimBOM(line)
	return rawjson.IsObject(line) && rawjson.Valid(line)
}

// Hold keeps the log open whatever becomes of its name; see Rest. It returns false if the backend cannot do that, or if
// another log has the name by now; what was held before stays held.
func (t *Tail) Hold(ctx context.Context, now backend.Log) bool {
	o, ok := t.Backend.(backend.Opener)
	if !ok || !backend.Lines(t.Backend, now.Name) {
		return false
	}
	r, err := o.Open(ctx, now)
	if err != nil {
		return false
	}
	held, ok := r.(backend.Renewer)
	if !ok {
		_ = r.Close() // nothing was written through it
		return false
	}
	t.Close()
	t.held = held
	return true
}

// Close releases the log that is held. The log can still be followed by its name.
func (t *Tail) Close() {
	if t.held != nil {
		_ = t.held.Close() // nothing was written through it
		t.held = nil
	}
}

// Rest returns what was written to the held log before another log took its name. After Grown, records
// yields what is new. After Replaced, the log must be read from its beginning: call Rewind first. After Removed, nothing
// is held. A torn record at the end is left out: it will not be completed.
func (t *Tail) Rest() (c Change, records iter.Seq[dialect.Record]) {
	if t.held == nil {
		return Removed, nil
	}
	size, grew, err := t.held.Renew()
	if err != nil {
		return Removed, nil
	}
	c = Grown
	if !grew || size < t.Pos || !t.holds(t.held, size) {
		c = Replaced
	}
	return c, func(yield func(dialect.Record) bool) {
		for r, err := range t.held.Records(context.Background(), t.Pos) {
			if err != nil || r.Torn && !IsWhole(r.Data) {
				return
			}
			if line, ok := t.next(r); ok && !yield(line) {
				return
			}
		}
	}
}

// mark identifies a record that was read.
type mark struct {
	offset, length int64
	sum            uint32
}

// marksMost limits the marks of a log. When it is reached, every second one is dropped, so that they stay spread over the log.
const marksMost = 128

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func markOf(data []byte, offset int64) mark {
	return mark{offset, int64(len(data)), crc32.Checksum(data, castagnoli)}
}

func (t *Tail) mark(data []byte, offset int64) {
	if len(t.marks) == marksMost {
		for i := range marksMost / 2 {
			t.marks[i] = t.marks[2*i+1]
		}
		t.marks = t.marks[:marksMost/2]
	}
	t.marks = append(t.marks, markOf(data, offset))
}
