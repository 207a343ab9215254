package logtree

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"path"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
)

// EnoughToDetect is how many records are looked at to find the dialect of a log.
const EnoughToDetect = 8

// Leading returns the records that a log begins with, enough to detect its dialect. Blank lines are left out.
func Leading(ctx context.Context, b backend.Backend, at backend.Log) ([]dialect.Record, error) {
	return leading(Records(ctx, b, at))
}

func leading(records iter.Seq2[dialect.Record, error]) ([]dialect.Record, error) {
	var first []dialect.Record
	for r, err := range records {
		if _, long := errors.AsType[*backend.LongLineError](err); long {
			break // Load reports it
		}
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(r.Data)) > 0 {
			r.Data = bytes.Clone(r.Data) // valid only until the next step
			first = append(first, r)
		}
		if len(first) == EnoughToDetect {
			break
		}
	}
	return first, nil
}

// LeadingIn is Leading for the first bytes of a log. A last record without a newline counts only if whole says that data is the
// whole log. The records are appended to dst and point into data.
func LeadingIn(dst []dialect.Record, data []byte, whole bool) []dialect.Record {
	offset := 0
	for line := 1; offset < len(data) && len(dst) < EnoughToDetect; line++ {
		end := bytes.IndexByte(data[offset:], '\n')
		if end < 0 {
			if !whole {
				break
			}
			end = len(data) - offset
		}
		if r := data[offset : offset+end]; len(bytes.TrimSpace(r[:min(len(r), 64)])) > 0 {
			dst = append(dst, dialect.Record{Data: r, Offset: int64(offset), Line: line})
		}
		offset += end + 1
	}
	return dst
}

// Detect finds the dialect of a log by its first records. Among the values of one family the log itself decides if it
// can, else the dialect of the place that the log lies in. ok is false for records that no dialect knows; the dialect is
// then that of the place. A log without records gets the dialect of the place: agents treat an empty file as a new session.
func Detect(dialects []dialect.Dialect, place dialect.Dialect, first []dialect.Record) (d dialect.Dialect, ok bool) {
	if len(first) == 0 {
		return place, true
	}
	for _, d := range dialects {
		if !d.Detect(first) {
			continue
		}
		for _, value := range dialects {
			if e, ok := value.(dialect.Exact); ok && value.Family() == d.Family() && e.Exact(first) {
				return value, true
			}
		}
		if place.Family() == d.Family() {
			return place, true
		}
		return d, true
	}
	return place, false
}

// Records reads a log line by line. A log that does not consist of lines is one record if its name ends in ".json";
// any other (a backup such as "x.jsonl.v1.bak") is split into lines here.
func Records(ctx context.Context, b backend.Backend, at backend.Log) iter.Seq2[dialect.Record, error] {
	return numbered(b.Read(ctx, at, 0), at.Name, backend.Lines(b, at.Name))
}

// numbered turns the records of a backend into numbered records for a decoder.
func numbered(records iter.Seq2[backend.Record, error], name string, lines bool) iter.Seq2[dialect.Record, error] {
	return func(yield func(dialect.Record, error) bool) { number(records, name, lines, yield) }
}

func number(records iter.Seq2[backend.Record, error], name string, lines bool, yield func(dialect.Record, error) bool) {
	line := 0
	for r, err := range records {
		switch {
		case err != nil:
			yield(dialect.Record{}, OnLine(err, line+1))
			return
		case lines:
			line++
			if !yield(dialect.Record{Data: r.Data, Offset: r.Offset, Line: line, Torn: r.Torn}, nil) {
				return
			}
		case path.Ext(name) == ".json":
			yield(dialect.Record{Data: r.Data, Offset: r.Offset, Line: 1}, nil)
			return
		default:
			for r := range splitLines(r.Data, r.Offset) {
				if !yield(r, nil) {
					return
				}
			}
		}
	}
}

// OnLine adds a number of lines to the place of an error.
func OnLine(err error, lines int) error {
	var long *backend.LongLineError
	if !errors.As(err, &long) {
		return err
	}
	at := *long
	at.Line += lines
	return &at
}

// splitLines splits the bytes of a log at newlines; a carriage return before one is dropped. A last line without
// newline is torn.
func splitLines(data []byte, offset int64) iter.Seq[dialect.Record] {
	return func(yield func(dialect.Record) bool) {
		for line := 1; len(data) > 0; line++ {
			r := dialect.Record{Offset: offset, Line: line}
			end := bytes.IndexByte(data, '\n')
			if end < 0 {
				r.Data, r.Torn = data, true
				yield(r)
				return
			}
			r.Data = data[:end:end]
			if end > 0 && r.Data[end-1] == '\r' {
				r.Data = r.Data[: end-1 : end-1]
			}
			if !yield(r) {
				return
			}
			offset, data = offset+int64(end)+1, data[end+1:]
		}
	}
}

// viewMost is how much of a log is mapped at a time; mapped pages count as memory of the process. With 64 MB, opening a log of
// 100 MB takes 4 % less time and three times the memory.
const viewMost = 4 << 20

// each passes every record of a log to take, in the fastest way that the backend has. r, if not nil, is the log held open.
// take must not keep the bytes. If each returns an error, the records that take got do not count: another process changed the log
// meanwhile.
func each(ctx context.Context, b backend.Backend, at backend.Log, r backend.Reader, take func(dialect.Record)) error {
	lines := backend.Lines(b, at.Name)
	seen, line := int64(0), 0
	if v, ok := r.(backend.ViewReader); ok && lines && at.Size > 0 {
		var err error
		// ErrUnsupported: this log is better read than mapped.
		if seen, line, err = view(ctx, v, at.Size, viewMost, take); !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	for r, err := range numbered(backend.Records(ctx, b, at, r, seen), at.Name, lines) {
		if err != nil {
			return OnLine(err, line)
		}
		r.Line += line
		take(r)
	}
	return nil
}

// view passes the lines of a log to take, one window at a time. It returns the offset and the number of lines that it reached.
func view(ctx context.Context, v backend.ViewReader, end, most int64, take func(dialect.Record)) (seen int64, line int, err error) {
	done := ctx.Done()
	window := most
	for seen < end {
		size, taken, lines := min(window, end-seen), 0, 0
		err := v.View(seen, size, func(data []byte) error {
			if seen+size < end { // the last line of the window goes on beyond it
				data = data[:bytes.LastIndexByte(data, '\n')+1]
			}
			taken = len(data)
			for r := range splitLines(data, seen) {
				select {
				case <-done:
					return context.Cause(ctx)
				default:
				}
				lines = r.Line
				r.Line += line
				take(r)
			}
			return nil
		})
		if err != nil {
			return seen, line, err
		}
		if window = most; taken == 0 {
			window = 2 * size // the line is longer than the window
		}
		seen, line = seen+int64(taken), line+lines
	}
	return seen, line, nil
}
