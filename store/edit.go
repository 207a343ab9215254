package store

import (
	"bytes"
	"context"
	"fmt"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/session"
)

// line is one line of a log and where it was.
type line struct {
	data   []byte
	offset int64
	cr     bool // it ended in "\r\n"
}

func (l line) end() int64 { return l.offset + int64(len(l.data)) }

// ended returns the line as the backend writes it: the backend adds the newline, but not a carriage return before it.
func (l line) ended(data []byte) []byte {
	if l.cr {
		return append(data[:len(data):len(data)], '\r')
	}
	return data
}

// edits say what becomes of a log. What they do not touch stays byte for byte, even lines that are not records.
type edits struct {
	header dialect.HeaderEdit
	// entry returns the new record of an entry; nil keeps the old one, an empty one removes the entry. It is called again if another
	// process wrote meanwhile.
	entry func(e session.Entry) ([]byte, error)
}

// lines reads the whole log, or the records that wait for the log to be created.
func (s *Session) lines(ctx context.Context) ([]line, error) {
	var list []line
	if s.w != nil && !s.w.created {
		offset := int64(0)
		for _, r := range s.w.waiting {
			list = append(list, line{data: r, offset: offset})
			offset += int64(len(r)) + 1
		}
		return list, nil
	}
	if !backend.Lines(s.at.Backend, s.log.Name) { // a backup, for example
		for r, err := range logtree.Records(ctx, s.at.Backend, s.log) {
			if err != nil {
				return nil, err
			}
			list = append(list, line{data: bytes.Clone(r.Data), offset: r.Offset})
		}
		return list, nil
	}
	for r, err := range s.at.Backend.Read(ctx, s.log, 0) {
		if err != nil {
			return nil, logtree.OnLine(err, len(list)+1)
		}
		l := line{data: bytes.Clone(r.Data), offset: r.Offset}
		l.cr = r.End-l.end() > 1
		list = append(list, l)
	}
	return list, nil
}

// bom may stand before the first record.
var bom = []byte("\xef\xbb\xbf")

// edited returns the lines of the log after edits. Entries are found in their lines by their spans, which are in file order.
// Records that share a line get lines of their own if something on the line changes.
func (s *Session) edited(ctx context.Context, ed edits) ([][]byte, error) {
	old, err := s.lines(ctx)
	if err != nil {
		return nil, err
	}
	d, err := s.store.writer(s.dialect)
	if err != nil {
		return nil, err
	}
	changed, err := s.changed(ed.entry)
	if err != nil {
		return nil, err
	}
	h := s.tree.Header()
	out := make([][]byte, 0, len(old)+1)
	var slot *line
	next := 0 // the next entry of the tree
	for _, l := range old {
		first := next
		for next < s.tree.Len() && s.tree.At(next).Span.End() <= l.end() {
			next++
		}
		switch {
		case h.Raw != nil && h.Span.Offset >= l.offset && h.Span.End() <= l.end():
			var record []byte
			if slot != nil {
				record = bytes.TrimPrefix(slot.data, bom)
			}
			// The first message is the header too: the edits of both apply to one record.
			if h.InEntry {
				first++
				if r, ok := changed[first-1]; ok {
					h.Raw = r
				}
				if len(h.Raw) == 0 {
					continue // the header is removed with its entry
				}
			}
			header, newSlot, err := d.EditHeader(h, record, ed.header)
			if err != nil {
				return nil, err
			}
			switch {
			case newSlot != nil && ed.header.Copy:
				out = append(out, newSlot)
			case newSlot != nil:
				out = append(out, slot.ended(append(slot.data[:len(slot.data)-len(record):len(slot.data)-len(record)], newSlot...)))
			}
			// A copy has no byte order mark.
			if start := h.Span.Offset - l.offset; !ed.header.Copy {
				header = append(l.data[:start:start], header...) // a byte order mark, or spaces
			}
			out = append(out, l.ended(header))
			rest := line{l.data[h.Span.End()-l.offset:], h.Span.End(), l.cr}
			if len(bytes.TrimSpace(rest.data)) > 0 {
				out = s.pieces(out, rest, first, next, changed)
			}
		case slot == nil && h.Line > 1 && next == 0 && dialect.IsSlot(s.dialect, l.data):
			slot = &l // the header below writes it
		default:
			out = s.pieces(out, l, first, next, changed)
		}
	}
	return out, nil
}

// changed asks for the new record of each entry, before any line is made: an edit that fails changes nothing.
func (s *Session) changed(edit func(session.Entry) ([]byte, error)) (map[int][]byte, error) {
	if edit == nil {
		return nil, nil
	}
	changed := map[int][]byte{}
	for e := range s.tree.Entries() {
		r, err := edit(e)
		if err != nil {
			return nil, fmt.Errorf("entry %s: %w", e.ID, err)
		}
		if r != nil {
			changed[e.Index] = r
		}
	}
	return changed, nil
}

// pieces appends what becomes of one line, which holds the entries first ≤ i < next. A line without changes stays as it is.
// Otherwise each entry gets a line, and so does what lies between them.
func (s *Session) pieces(out [][]byte, l line, first, next int, changed map[int][]byte) [][]byte {
	touched := false
	for i := first; i < next; i++ {
		_, ok := changed[i]
		touched = touched || ok
	}
	if !touched {
		return append(out, l.ended(l.data))
	}
	at := int64(0)
	keep := func(b []byte) {
		if b = bytes.TrimSpace(b); len(b) > 0 {
			out = append(out, l.ended(b))
		}
	}
	for i := first; i < next; i++ {
		span := s.tree.At(i).Span
		start, end := span.Offset-l.offset, span.End()-l.offset
		// What is not a record is kept.
		keep(l.data[at:start])
		r, ok := changed[i]
		if !ok {
			r = l.data[start:end]
		}
		if len(r) > 0 {
			out = append(out, l.ended(r))
		}
		at = end
	}
	keep(l.data[at:])
	return out
}
