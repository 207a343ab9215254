package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// line is one line of a log and where it stood.
type line struct {
	data   []byte
	offset int64
}

// edits say what becomes of a log. What they do not touch stays byte for byte, also lines that nobody understands.
type edits struct {
	header dialect.HeaderEdit
	// entry gives the new record of an entry; nil keeps it.
	entry func(e session.Entry) ([]byte, error)
}

// lines reads the whole log, or what waits to become one.
func (s *Session) lines(ctx context.Context) ([]line, error) {
	var list []line
	if s.w != nil && !s.w.created {
		for _, r := range s.w.waiting {
			list = append(list, line{data: r})
		}
		return list, nil
	}
	b := s.source.b
	for r, err := range records(ctx, b, s.log) {
		if err != nil {
			return nil, err
		}
		list = append(list, line{bytes.Clone(r.Data), r.Offset})
	}
	return list, nil
}

// edited gives the lines of the log after edits.
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
	waiting := s.w != nil && !s.w.created
	var out [][]byte
	var slot []byte
	next := 0 // the next entry of the tree
	for i, l := range old {
		first := next
		for next < s.tree.Len() && s.within(next, i, l) {
			next++
		}
		isHeader := waiting && i == 0 || !waiting && h.Raw != nil && h.Span.Offset >= l.offset && h.Span.End() <= l.offset+int64(len(l.data))
		switch {
		case isHeader:
			header, newSlot, err := d.EditHeader(h, slot, ed.header)
			if err != nil {
				return nil, err
			}
			if newSlot != nil {
				out = append(out, newSlot)
			}
			out = append(out, header)
			if rest := l.data; next > first || len(rest) > len(h.Raw) {
				out = append(out, s.pieces(line{rest[len(h.Raw):], l.offset + int64(len(h.Raw))}, first, next, changed)...)
			}
			slot = nil
		case slot == nil && len(out) == 0 && next == 0 && s.isSlot(l.data):
			slot = l.data // it is written with the header
		default:
			out = append(out, s.pieces(l, first, next, changed)...)
		}
	}
	return out, nil
}

// isSlot tells a title slot: a record before the header that is one.
func (s *Session) isSlot(data []byte) bool {
	return s.tree.Header().Line > 1 && rawjson.IsObject(data) && rawjson.Str(data, "type") == "title"
}

// changed asks for the new record of each entry.
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

// pieces gives what becomes of one line, which holds the entries first ≤ i < next. A line of which nothing changes stays as
// it is; of one with several entries each gets a line, and so does what lies between them.
func (s *Session) pieces(l line, first, next int, changed map[int][]byte) [][]byte {
	touched := false
	for i := first; i < next; i++ {
		_, ok := changed[i]
		touched = touched || ok
	}
	if !touched {
		if len(bytes.TrimSpace(l.data)) == 0 && next == first {
			return nil
		}
		return [][]byte{l.data}
	}
	var out [][]byte
	at := int64(0)
	keep := func(b []byte) {
		if b = bytes.TrimSpace(b); len(b) > 0 {
			out = append(out, b)
		}
	}
	for i := first; i < next; i++ {
		span := s.tree.At(i).Span
		start, end := span.Offset-l.offset, span.End()-l.offset
		if !s.tree.At(i).Durable() {
			start, end = 0, int64(len(l.data))
		}
		keep(l.data[at:start])
		if r, ok := changed[i]; ok {
			out = append(out, r)
		} else {
			out = append(out, l.data[start:end])
		}
		at = end
	}
	keep(l.data[at:])
	return out
}

// replace puts lines in the place of the log and reads it again. The leaf stays where it was. When others wrote
// meanwhile nothing is lost: their entries are read, the lines are made anew and it is tried again.
func (s *Session) replace(ctx context.Context, lines func() ([][]byte, error)) error {
	w := s.w
	for range 20 {
		records, err := lines()
		if err != nil || records == nil {
			return named(s.path, err)
		}
		leaf := s.tree.LeafID()
		if !w.created {
			s.restart(records)
			s.stay(leaf)
			return nil
		}
		now, err := w.b.Replace(context.WithoutCancel(ctx), s.log, records...)
		switch {
		case err == nil:
			if err := s.reload(ctx, now); err != nil {
				return s.latch(err)
			}
			s.stay(leaf)
			return nil
		case !errors.Is(err, backend.ErrConflict):
			return s.latch(err)
		}
		fresh, _, err := s.catchUp(ctx, nil)
		if err != nil {
			return s.latch(err)
		}
		if fresh > 0 {
			w.opt.Observer(Event{Kind: EventForeign, Path: s.path, Count: fresh})
		}
	}
	return s.latch(fmt.Errorf("%w again and again", backend.ErrConflict))
}

// stay puts the leaf back to where it was; where that entry is gone, the leaf is the last one.
func (s *Session) stay(leaf session.EntryID) {
	if s.w.builder.SetLeaf(leaf) == nil {
		s.w.tip = leaf
	}
}

// restart decodes the records of a session whose log is not created yet.
func (s *Session) restart(records [][]byte) {
	w := s.w
	w.waiting = records
	w.builder = session.NewBuilder(s.path, s.source)
	w.dec = w.d.NewDecoder(w.builder)
	w.dec.Decode(dialect.Record{Data: records[0], Line: 1})
	w.builder.Pending(true)
	for _, r := range records[1:] {
		w.dec.Decode(dialect.Record{Data: r})
	}
	s.tree = w.builder.Finish()
	w.tip = s.tree.LeafID()
}

// rewrite changes the log atomically, under the session's lock.
func (s *Session) rewrite(ctx context.Context, ed edits) error {
	if _, err := s.settled(); err != nil {
		return err
	}
	return s.replace(ctx, func() ([][]byte, error) { return s.edited(ctx, ed) })
}

// migrate rewrites a log of an old version as today's, and keeps the original.
func (s *Session) migrate(ctx context.Context) error {
	h := s.tree.Header()
	if h.Raw == nil || !s.needsMigration() {
		return nil
	}
	if err := setAside(ctx, s.w.b, s.log, fmt.Sprintf("v%d.bak", h.Version)); err != nil {
		return err
	}
	return s.rewrite(ctx, edits{entry: s.current})
}

// needsMigration says whether the log is of an old version.
func (s *Session) needsMigration() bool {
	h := s.tree.Header()
	header, _, err := s.w.d.EditHeader(h, nil, dialect.HeaderEdit{})
	return err == nil && !bytes.Equal(header, h.Raw)
}

// current gives the record that an entry of an old version is written as; nil where it is the one it has.
func (s *Session) current(e session.Entry) ([]byte, error) {
	if !e.Migrated {
		return nil, nil
	}
	return s.dialect.Encode(e)
}

// setAside copies a log, whole, to "<name>.<suffix>". Where that name is taken by other bytes, a number is added.
func setAside(ctx context.Context, b backend.Backend, at backend.Log, suffix string) error {
	src, err := newSource(ctx, b, at)
	if err != nil {
		return err
	}
	defer src.Close()
	all, err := src.Bytes(session.Span{Length: at.Size})
	if err != nil {
		return err
	}
	for n := 1; n < 1000; n++ {
		name := at.Name + "." + suffix
		if n > 1 {
			name = fmt.Sprintf("%s-%d", name, n)
		}
		_, err = b.Create(ctx, name, all)
		if !errors.Is(err, backend.ErrExist) {
			return err
		}
		if old, statErr := b.Stat(ctx, name); statErr == nil && old.Size == at.Size {
			for r, readErr := range b.Read(ctx, old, 0) {
				if readErr == nil && bytes.Equal(r.Data, all) {
					return nil
				}
			}
		}
	}
	return err
}

// stamp is a time for file names.
func stamp(t time.Time) string { return t.UTC().Format("20060102T150405.000Z") }

// Rename gives the session a name, "" takes it away. How it is kept is the agent's habit: an entry, or the header.
func (s *Session) Rename(ctx context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.writable()
	if err != nil {
		return err
	}
	if w.d.Habits().RenameByEntry {
		_, err := s.append(ctx, session.SessionInfo{Name: name}, nil)
		return err
	}
	return s.rewrite(ctx, edits{header: dialect.HeaderEdit{Title: &name}})
}

// RewriteToolCallArguments changes the arguments of a tool call, wherever it stands; found is false where no entry has
// it.
func (s *Session) RewriteToolCallArguments(ctx context.Context, callID string, arguments []byte) (found bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	editor, ok := s.dialect.(dialect.Editor)
	if !ok {
		return false, fmt.Errorf("changing tool calls of %s is %w", s.dialect.Name(), ErrUnsupported)
	}
	edit := func(e session.Entry) ([]byte, error) {
		if e.Role != session.RoleAssistant {
			return nil, nil
		}
		raw, err := s.dialect.Encode(e)
		if err != nil {
			return nil, err
		}
		edited, changed, err := editor.SetArguments(raw, callID, arguments)
		if !changed || err != nil {
			return nil, err
		}
		found = true
		return s.persist(ctx, edited)
	}
	if _, err := s.settled(); err != nil {
		return false, err
	}
	err = s.replace(ctx, func() ([][]byte, error) {
		records, err := s.edited(ctx, edits{entry: edit})
		if !found {
			return nil, err // nothing to rewrite
		}
		return records, err
	})
	return found, err
}

// RewriteEntries puts these records in the place of all entries. The header stays, and so does what is no entry; a header
// among the records is passed over.
func (s *Session) RewriteEntries(ctx context.Context, entries [][]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.settled(); err != nil {
		return err
	}
	var fresh [][]byte
	for i, r := range entries {
		if !rawjson.IsObject(r) || !rawjson.Valid(r) {
			return fmt.Errorf("%s: entry %d is not a JSON object", s.path, i)
		}
		if isHeader(s.dialect, r) {
			continue
		}
		r, err := s.persist(ctx, rawjson.Compact(r))
		if err != nil {
			return named(s.path, err)
		}
		fresh = append(fresh, r)
	}
	return s.replace(ctx, func() ([][]byte, error) {
		records, err := s.besides(ctx)
		return append(records, fresh...), err
	})
}

// besides gives the lines of the log that hold no entry: the header, and what nobody understands.
func (s *Session) besides(ctx context.Context) ([][]byte, error) {
	old, err := s.lines(ctx)
	var records [][]byte
	next := 0
	for i, l := range old {
		first := next
		for next < s.tree.Len() && s.within(next, i, l) {
			next++
		}
		if next == first && len(bytes.TrimSpace(l.data)) > 0 {
			records = append(records, l.data)
		}
	}
	return records, err
}

// within says whether an entry stands on the i-th line, given that those before it are done.
func (s *Session) within(entry, i int, l line) bool {
	if s.w != nil && !s.w.created {
		return entry < i
	}
	return s.tree.At(entry).Span.End() <= l.offset+int64(len(l.data))
}
