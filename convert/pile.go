package convert

import (
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/spill"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/session"
)

// pile keeps records while a conversion needs them. A session may be larger than the memory, so they are in a temporary file
// if they are many. Every record ends with a newline, as in a log. pile implements session.Source.
type pile struct {
	bytes spill.Bytes
	err   error // the first of put; every read returns it
}

// put adds a record. An error is returned by every later read, and every record is read before a conversion ends.
func (p *pile) put(record []byte) session.Span {
	at := session.Span{Offset: p.bytes.Size(), Length: int64(len(record))}
	for _, b := range [][]byte{record, {'\n'}} {
		if _, err := p.bytes.Write(b); err != nil && p.err == nil {
			p.err = fmt.Errorf("keeping the records of the conversion: %w", err)
		}
	}
	return at
}

// Bytes implements session.Source.
func (p *pile) Bytes(at session.Span) ([]byte, error) {
	if p.err != nil {
		return nil, p.err
	}
	b := make([]byte, at.Length)
	n, err := p.bytes.ReadAt(b, at.Offset)
	if n == len(b) || errors.Is(err, io.EOF) && at.Length == 0 {
		return b, nil
	}
	return nil, fmt.Errorf("reading the records of the conversion: %w", err)
}

// all reads some records.
func (p *pile) all(list []session.Span) ([][]byte, error) {
	records := make([][]byte, len(list))
	for i, at := range list {
		var err error
		if records[i], err = p.Bytes(at); err != nil {
			return nil, err
		}
	}
	return records, nil
}

// close gives the records up.
func (p *pile) close() error { return p.bytes.Close() }

// sheet is a log that is in no backend yet.
type sheet struct {
	pile
	records []session.Span
}

// add writes a record at the end.
func (s *sheet) add(record []byte) { s.records = append(s.records, s.put(record)) }

// copied writes records of a pile at the end.
func (s *sheet) copied(from *pile, list []flat) error {
	for _, f := range list {
		record, err := from.Bytes(f.record)
		if err != nil {
			return err
		}
		s.add(record)
	}
	return nil
}

// each yields the records.
func (s *sheet) each() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for _, at := range s.records {
			record, err := s.Bytes(at)
			if !yield(record, err) || err != nil {
				return
			}
		}
	}
}

// read reads the sheet as a log of a new session at a path.
func (s *sheet) read(d dialect.Dialect, path string, n dialect.NewSession) (*session.Tree, error) {
	l, err := logtree.FromRecords(d, path, logtree.Born(n), s, s.records)
	return l.Tree, err
}
