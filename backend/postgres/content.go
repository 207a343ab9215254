package postgres

import (
	"bytes"
	"errors"
	"io"

	"github.com/treeline-dev/treeline/backend"
)

const (
	// piece is the largest size of a row. A long record is several rows, so that no message to or from the server is large.
	piece = 1 << 20
	// inline is how many bytes an append sends as parameters of one statement. More are copied in a transaction.
	inline = 4 << 20
	// few is the same for other mutations. It is smaller: COPY costs three more round trips, but half as much per row.
	few = 64 << 10
)

// content is the bytes that a mutation writes.
type content struct {
	io.ReaderAt
	size  int64
	lines bool
}

func newContent(b []byte, name string) content {
	return content{bytes.NewReader(b), int64(len(b)), backend.IsText(name)}
}

// torn reports whether the last line is unterminated.
func (c content) torn() (bool, error) {
	if !c.lines || c.size == 0 {
		return false, nil
	}
	var last [1]byte
	_, err := c.ReadAt(last[:], c.size-1)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return last[0] != '\n', err
}

// cutter cuts a content into rows. Of lines it makes a row each, with its line end, or several if a line is long; otherwise it makes
// pieces.
type cutter struct {
	content
	base int64 // position of the first byte in the log
	at   int64 // bytes cut so far
	buf  []byte
	held []byte // buf from at on
}

func (c content) cut(base int64) *cutter { return &cutter{content: c, base: base} }

// next returns the next row; its data is valid until the call after. ok is false after the last one.
func (c *cutter) next() (position int64, data []byte, ok bool, err error) {
	if c.at == c.size {
		return 0, nil, false, nil
	}
	if len(c.held) < piece && int64(len(c.held)) < c.size-c.at {
		if err := c.fill(); err != nil {
			return 0, nil, false, err
		}
	}
	n := min(piece, len(c.held))
	if c.lines {
		if i := bytes.IndexByte(c.held[:n], '\n'); i >= 0 {
			n = i + 1
		}
	}
	data, c.held = c.held[:n:n], c.held[n:]
	position = c.base + c.at
	c.at += int64(n)
	return position, data, true, nil
}

// fill reads on, so that a whole piece is held.
func (c *cutter) fill() error {
	if c.buf == nil {
		c.buf = make([]byte, min(c.size, 4*piece))
	}
	n := copy(c.buf, c.held)
	more := c.buf[n:min(int64(len(c.buf)), c.size-c.at)]
	got, err := c.ReadAt(more, c.at+int64(n))
	if got == len(more) {
		err = nil
	} else if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	c.held = c.buf[:n+got]
	return err
}

// rows are the parameters of a statement.
type rows struct {
	positions []int64
	data      [][]byte
}

// rows collects the rows of a content that is small enough.
func (c content) rows(base int64) (r rows, err error) {
	r = rows{positions: []int64{}, data: [][]byte{}}
	cut := c.cut(base)
	cut.buf = make([]byte, c.size) // all of it is held: rows stay valid
	for {
		position, data, ok, err := cut.next()
		if !ok || err != nil {
			return r, err
		}
		r.positions = append(r.positions, position)
		r.data = append(r.data, data)
	}
}

// source is a cutter as a source of rows for COPY.
type source struct {
	*cutter
	log        key
	generation int64
	row        [4]any
	err        error
}

// Next implements pgdb.CopyFromSource.
func (s *source) Next() bool {
	position, data, ok, err := s.next()
	s.row, s.err = [4]any{s.log, s.generation, position, data}, err
	return ok && err == nil
}

// Values implements pgdb.CopyFromSource.
func (s *source) Values() ([]any, error) { return s.row[:], nil }

// Err implements pgdb.CopyFromSource.
func (s *source) Err() error { return s.err }
