// Package lists decodes entries that are in no session: lists of the dialect's own JSON, as clients in other languages hold them.
package lists

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// ErrNotEntry: a record is not exactly one entry.
var ErrNotEntry = errors.New("the record is not one entry")

// Parse returns the JSON values of a text, line by line, unchanged. What is not JSON is skipped; values that share a
// line are all given.
func Parse(text []byte) [][]byte {
	var list [][]byte
	for line := range bytes.SplitSeq(text, []byte{'\n'}) {
		list = append(list, Values(line)...)
	}
	return list
}

// Values returns the JSON values of one line, up to the first error.
func Values(line []byte) (list [][]byte) {
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

// IsHeader reports whether a record is the header of a session. Detect finds the family; only decoding tells whether the header is
// complete.
func IsHeader(d dialect.Dialect, record []byte) bool {
	if !d.Detect([]dialect.Record{{Data: record, Line: 1}}) {
		return false
	}
	b := session.NewBuilder("", nil)
	dec := d.NewDecoder(b)
	dec.Decode(dialect.Record{Data: record, Line: 1})
	return dec.Finish() == nil && b.Header().Raw != nil && !b.Header().InEntry
}

// Migrate brings a header and entries of an old version up to today's version, in the same order. Entries without a header are read as the
// oldest version, as the agents do. A current entry stays byte for byte.
func Migrate(w dialect.WritingDialect, entries [][]byte) ([][]byte, error) {
	header := []byte(w.Habits().OldestHeader)
	at := slices.IndexFunc(entries, func(r []byte) bool { return IsHeader(w.Dialect, r) })
	if at >= 0 {
		header = entries[at]
	} else if len(header) == 0 {
		return entries, nil
	}
	// All at once: what an old record becomes depends on those before it (version 1 has no ids, and counts).
	t, where := treeOf(w.Dialect, header, entries, at)
	var err error
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

// treeOf builds the tree of entries that are in no log. where has the index in the tree of each entry, -1 for a record that is not an
// entry; skip is the index of the header. The tree keeps the records.
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

// Tree is treeOf for entries without a header: it supplies one, because the decoder needs it.
func Tree(d dialect.Dialect, entries ...[]byte) (*session.Tree, error) {
	w, ok := d.(dialect.Writer)
	if !ok {
		return nil, fmt.Errorf("writing sessions of %s is %w", d.Name(), dialect.ErrUnsupported)
	}
	header, err := w.Header(dialect.NewSession{ID: "00000000-0000-4000-8000-000000000000", CWD: "/"})
	if err != nil {
		return nil, err
	}
	t, _ := treeOf(d, header, entries, -1)
	return t, nil
}

// One decodes a record as the only entry of a tree. It fails with ErrNotEntry for anything else.
func One(d dialect.Dialect, record []byte) (session.Entry, error) {
	t, err := Tree(d, record)
	if err != nil {
		return session.Entry{}, err
	}
	// A header, a scalar or two records on a line give no entry, or more than one.
	if t.Len() != 1 {
		return session.Entry{}, ErrNotEntry
	}
	return t.At(0), nil
}

// Body decodes the body of a record that is in no log.
func Body(d dialect.Dialect, record []byte) (session.Body, error) {
	e, err := One(d, record)
	if err != nil {
		return nil, err
	}
	return e.Body()
}
