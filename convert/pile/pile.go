// Package pile keeps the records of a conversion while they are needed, and reads them as a log before there is one. It does not depend on
// package convert.
package pile

import (
	"fmt"
	"iter"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/spill"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/session"
)

// Pile keeps records while a conversion needs them. A session may be larger than the memory, so many records are kept in a temporary file.
// Every record ends with a newline, as in a log. Pile implements session.Source.
type Pile struct {
	bytes spill.Bytes
	err   error // the first of Put; every read returns it
}

// Put adds a record. Every later read returns an error of Put, and every record is read before a conversion ends.
func (p *Pile) Put(record []byte) session.Span {
	at := session.Span{Offset: p.bytes.Size(), Length: int64(len(record))}
	for _, b := range [][]byte{record, {'\n'}} {
		if _, err := p.bytes.Write(b); err != nil && p.err == nil {
			p.err = fmt.Errorf("keeping the records of the conversion: %w", err)
		}
	}
	return at
}

// Err returns the first error of Put.
func (p *Pile) Err() error { return p.err }

// Bytes implements session.Source.
func (p *Pile) Bytes(at session.Span) ([]byte, error) {
	if p.err != nil {
		return nil, p.err
	}
	b := make([]byte, at.Length)
	if n, err := p.bytes.ReadAt(b, at.Offset); n < len(b) {
		return nil, fmt.Errorf("reading the records of the conversion: %w", err)
	}
	return b, nil // the end of the pile may stand behind it
}

// All reads some records.
func (p *Pile) All(list []session.Span) ([][]byte, error) {
	records := make([][]byte, len(list))
	for i, at := range list {
		var err error
		if records[i], err = p.Bytes(at); err != nil {
			return nil, err
		}
	}
	return records, nil
}

// Close releases the records and the temporary file.
func (p *Pile) Close() error { return p.bytes.Close() }

// Sheet is a log that is not in a backend yet.
type Sheet struct {
	Pile
	Records []session.Span
}

// Add writes a record at the end.
func (s *Sheet) Add(record []byte) { s.Records = append(s.Records, s.Put(record)) }

// Each yields the records.
func (s *Sheet) Each() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for _, at := range s.Records {
			record, err := s.Bytes(at)
			if !yield(record, err) || err != nil {
				return
			}
		}
	}
}

// Read reads the sheet as a log of a new session at a path.
func (s *Sheet) Read(d dialect.Dialect, path string, n dialect.NewSession) (*session.Tree, error) {
	l, err := logtree.FromRecords(d, path, logtree.Born(n), s, s.Records)
	return l.Tree, err
}
