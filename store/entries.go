package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/session"
)

// Entries that are in no session: lists of the dialect's own JSON, as clients in other languages hold them.

// ParseEntries gives the JSON values of a text, line by line, unchanged. What is not JSON is skipped; values that share a
// line are all given.
func ParseEntries(text []byte) [][]byte {
	var list [][]byte
	for line := range bytes.SplitSeq(text, []byte{'\n'}) {
		list = appendValues(list, line)
	}
	return list
}

// appendValues adds the values of one line, up to the first error.
func appendValues(list [][]byte, line []byte) [][]byte {
	for at := rawjson.SkipSpace(line, 0); at < len(line); at = rawjson.SkipSpace(line, at) {
		end, err := rawjson.Skip(line, at)
		if err != nil {
			break
		}
		list = append(list, line[at:end])
		at = end
	}
	return list
}

// LoadEntries gives the header and all other records of a log, unchanged: nothing is migrated or written. A log that does
// not exist or has no readable header gives none, as in the agents' programs.
func (s *Store) LoadEntries(ctx context.Context, path string, opt OpenOptions) ([][]byte, error) {
	sess, err := s.Open(ctx, path, opt)
	switch {
	case errors.Is(err, backend.ErrNotExist), errors.Is(err, ErrNotSession):
		return nil, nil
	case err != nil:
		return nil, err
	}
	defer sess.Close()
	h := sess.Header()
	if h.Raw == nil {
		return nil, nil
	}
	list := [][]byte{h.Raw}
	lines, err := sess.lines(ctx)
	if err != nil {
		return nil, logtree.Named(path, err)
	}
	for _, l := range lines {
		data := l.data
		if before := h.Span.End() - l.offset; before > 0 { // the header, or what stands before it
			data = data[min(before, int64(len(data))):]
		}
		for _, value := range appendValues(nil, data) {
			// A program that only parses would see null as an empty entry.
			if rawjson.Truthy(value) {
				list = append(list, bytes.Clone(value))
			}
		}
	}
	return list, nil
}

// isHeader reports whether a record begins a session. Detect tells the family; only decoding tells whether the header is complete.
func isHeader(d dialect.Dialect, record []byte) bool {
	if !d.Detect([]dialect.Record{{Data: record, Line: 1}}) {
		return false
	}
	b := session.NewBuilder("", nil)
	dec := d.NewDecoder(b)
	dec.Decode(dialect.Record{Data: record, Line: 1})
	return dec.Finish() == nil && b.Header().Raw != nil && !b.Header().InEntry
}

// MigrateEntries brings a header and entries of an old version up to today's, in the same order; d nil is the default
// dialect. Entries without a header are read as the oldest version, as the agents do. What is current stays byte for byte.
func (s *Store) MigrateEntries(d dialect.Dialect, entries [][]byte) ([][]byte, error) {
	w, err := s.writer(d)
	if err != nil {
		return nil, err
	}
	header := []byte(w.Habits().OldestHeader)
	at := slices.IndexFunc(entries, func(r []byte) bool { return isHeader(w.Dialect, r) })
	if at >= 0 {
		header = entries[at]
	} else if len(header) == 0 {
		return entries, nil
	}
	// All at once: what an old record becomes depends on those before it (version 1 has no ids, and counts).
	t, where := treeOf(w.Dialect, header, entries, at)
	out := make([][]byte, len(entries))
	for i, r := range entries {
		switch k := where[i]; {
		case i == at:
			out[i], _, err = w.EditHeader(t.Header(), nil, dialect.HeaderEdit{})
		case k >= 0:
			// An entry that is current gives its own bytes back.
			out[i], err = w.Dialect.Encode(t.At(k))
		default:
			out[i] = r // not an entry
		}
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i, err)
		}
	}
	return out, nil
}

// treeOf builds the tree of entries that are in no log. where gives the index in the tree of each of them, -1 for what is
// not an entry; skip is the index of the header. The tree keeps the records.
func treeOf(d dialect.Dialect, header []byte, entries [][]byte, skip int) (t *session.Tree, where []int) {
	b := session.NewBuilder("", nil)
	dec := d.NewDecoder(b)
	if header != nil {
		dec.Decode(dialect.Record{Data: header, Line: 1})
	}
	b.Pending(true)
	where = make([]int, len(entries))
	for i, r := range entries {
		where[i] = -1
		if i == skip {
			continue
		}
		n := b.Len()
		dec.Decode(dialect.Record{Data: r, Line: i + 1})
		if b.Len() > n {
			where[i] = n
		}
	}
	return b.Finish(), where
}

// headed is treeOf for entries without a header: the decoder wants one, so it gets one.
func headed(d dialect.Dialect, entries ...[]byte) (*session.Tree, error) {
	w, ok := d.(dialect.Writer)
	if !ok {
		return nil, fmt.Errorf("writing sessions of %s is %w", d.Name(), ErrUnsupported)
	}
	header, err := w.Header(dialect.NewSession{ID: "00000000-0000-4000-8000-000000000000", CWD: "/"})
	if err != nil {
		return nil, err
	}
	t, _ := treeOf(d, header, entries, -1)
	return t, nil
}

// decodeOne decodes a record as the only entry of a tree.
func decodeOne(d dialect.Dialect, record []byte) (session.Entry, error) {
	t, err := headed(d, record)
	if err != nil {
		return session.Entry{}, err
	}
	// A header, a scalar or two records on a line give no entry, or more than one.
	if t.Len() != 1 {
		return session.Entry{}, ErrNotEntry
	}
	return t.At(0), nil
}

// ContextOf computes what the model would see at an entry of a list that is in no session; d nil is the default dialect.
// A leaf that is nil or unknown means the last entry; "" is the place before the first one.
func (s *Store) ContextOf(d dialect.Dialect, entries [][]byte, leaf *session.EntryID, opt ContextOptions) (*session.Context, error) {
	w, err := s.writer(d)
	if err != nil {
		return nil, err
	}
	t, err := headed(w.Dialect, entries...)
	if err != nil {
		return nil, err
	}
	if leaf == nil {
		leaf = new(t.LeafID())
	}
	return session.BuildContext(t, *leaf, session.ContextOptions{
		DropFailed: opt.DropFailed, StripDangling: opt.StripDangling, LLM: opt.LLM, FallBack: true,
	})
}
