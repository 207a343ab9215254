package pgdb

import (
	"context"
	"fmt"
	"io"
	"sync"
)

// CopyFromSource is a sequence of rows to copy.
type CopyFromSource interface {
	// Next goes to the next row, and reports whether there is one.
	Next() bool
	// Values returns the columns of the row, valid until Next.
	Values() ([]any, error)
	// Err returns the error that ended the rows.
	Err() error
}

// CopyFromRows returns rows that are in memory.
func CopyFromRows(list [][]any) CopyFromSource { return &sliceSource{list: list, at: -1} }

type sliceSource struct {
	list [][]any
	at   int
}

func (s *sliceSource) Next() bool             { s.at++; return s.at < len(s.list) }
func (s *sliceSource) Values() ([]any, error) { return s.list[s.at], nil }
func (s *sliceSource) Err() error             { return nil }

// copySignature begins the binary form of COPY: no flags, and no extension of the header.
const copySignature = "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// copyStream makes the binary form of rows while it is read.
type copyStream struct {
	types []uint32

	mu    sync.Mutex // pgconn may continue to read for a moment after it has returned an error of the connection
	rows  CopyFromSource
	buf   []byte
	at    int
	begun bool
	ended bool
	err   error
}

// close ends the reading of the rows, and returns their error.
func (s *copyStream) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.err
	s.rows, s.buf, s.at, s.ended = nil, nil, 0, true
	return err
}

// copyPiece is how much is made at a time.
const copyPiece = 64 << 10

// Read implements io.Reader.
func (s *copyStream) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at == len(s.buf) {
		if s.ended {
			return 0, io.EOF
		}
		s.buf, s.at = s.buf[:0], 0
		if s.err = s.fill(); s.err != nil {
			return 0, s.err
		}
	}
	n := copy(p, s.buf[s.at:])
	s.at += n
	return n, nil
}

// fill makes the next piece.
func (s *copyStream) fill() error {
	if !s.begun {
		s.begun = true
		s.buf = append(s.buf, copySignature...)
	}
	for len(s.buf) < copyPiece {
		if !s.rows.Next() {
			s.ended = true
			s.buf = encodeInt(s.buf, 2, -1)
			return s.rows.Err()
		}
		values, err := s.rows.Values()
		if err != nil {
			return err
		}
		if len(values) != len(s.types) {
			return fmt.Errorf("a row to copy has %d columns instead of %d", len(values), len(s.types))
		}
		s.buf = encodeInt(s.buf, 2, int64(len(values)))
		for i, v := range values {
			if form(s.types[i]) != binaryForm {
				return fmt.Errorf("column %d of the rows to copy is of the database's type %d, which has no binary form here", i+1, s.types[i])
			}
			if s.buf, err = encodeSized(s.buf, s.types[i], v); err != nil {
				return fmt.Errorf("column %d of a row to copy: %w", i+1, err)
			}
		}
	}
	return nil
}

func (c *conn) copyFrom(ctx context.Context, table Identifier, columns []string, rows CopyFromSource) (int64, error) {
	list := ""
	for i, name := range columns {
		if i > 0 {
			list += ", "
		}
		list += Identifier{name}.Sanitize()
	}
	s, err := c.describe(ctx, "select "+list+" from "+table.Sanitize())
	if err != nil {
		return 0, err
	}
	stream := &copyStream{rows: rows}
	for _, f := range s.Fields {
		stream.types = append(stream.types, f.DataTypeOID)
	}
	tag, err := c.CopyFrom(ctx, stream, "copy "+table.Sanitize()+" ("+list+") from stdin binary")
	if failed := stream.close(); failed != nil {
		err = failed // the server's error only repeats this one as a text
	}
	return tag.RowsAffected(), err
}
