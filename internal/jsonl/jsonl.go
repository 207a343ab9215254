// Package jsonl splits bytes into records: the lines of a JSON Lines log. It knows no JSON.
//
// # The format
//
// A record ends at '\n' and nowhere else. One '\r' directly before that '\n' belongs to the line end. All other bytes belong
// to the record: U+2028, U+2029 and U+0085, which some libraries treat as line ends, NUL bytes, a byte order mark, further
// '\r's, bytes that are not UTF-8. An empty line is an empty record. Nothing is skipped, repaired or judged.
//
// The last line of a log may be unterminated, because its writer was cut off or never writes the '\n'. It is a record too,
// flagged Torn.
//
// A record may have Longest bytes: sessions contain images. A longer line is not read. Without that limit, a log that ends in many gigabytes
// without a newline, such as the NUL bytes of a sparse file, would exhaust the memory.
//
// # Implementation
//
// Chunks are read into one buffer that is reused. Records are slices of it, so a record costs no allocation and is valid
// only until the next one. A long line makes the buffer grow; the big buffer is dropped after it. Mapping a large file saves
// one copy, but needs care with files that other programs truncate; View in package backend/file does that.
package jsonl

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
)

const (
	// chunk is the size of the buffer and of most reads. On a file in the page cache, in GB per CPU second (three runs
	// each on a busy machine): 32 KB 4.7 to 6.1, 64 KB 5.0 to 5.1, 128 KB 5.0 to 5.9, 256 KB 4.5 to 4.9; reading alone
	// gives 6 to 7.
	chunk = 128 << 10
	// firstRead is small because lists read only the first records of very many logs.
	firstRead = 8 << 10
	// idleReads is how often a reader may return nothing and no error, as in bufio.
	idleReads = 100
)

// Longest is the length in bytes of the longest line that is read, with a byte for its line end.
const Longest = 1 << 30

// LongError is the error for a line that is longer than a Splitter reads. The lines before it were yielded.
type LongError struct {
	Offset int64 // where the line begins
	Most   int   // the limit in bytes
}

// LongLine returns where the line begins, and the limit. Package backend asks for it.
func (e *LongError) LongLine() (offset int64, most int) { return e.Offset, e.Most }

// Error implements error.
func (e *LongError) Error() string {
	return fmt.Sprintf("the line at byte %d has more than %d bytes", e.Offset, e.Most)
}

// Record is one line.
type Record struct {
	// Offset is where the record begins.
	Offset int64
	// Data is the record without its line end. It is valid until the next call of Next or Reset.
	Data []byte
	// End is the offset after the line end, where the next record begins.
	End int64
	// Torn marks an unterminated last record.
	Torn bool
}

// Splitter yields the records of a log. The zero value is an empty log; Reset sets another one and reuses the buffer. A
// Splitter is not safe for concurrent use.
type Splitter struct {
	// Most is the length in bytes of the longest line; 0 means Longest.
	Most int

	r    io.Reader
	sect section // r after ResetAt, here to save an allocation

	buf  []byte // buf[pos:n] is read and not yet yielded
	pos  int
	n    int
	seen int   // buf[pos:seen] has no '\n': a long line is searched once, not once per chunk
	base int64 // offset of buf[0]
	step int   // length of the next read
	err  error // from r

	home []byte // the buffer of normal size while buf is a larger one
}

// NewSplitter returns a Splitter for r, whose first byte has that offset.
func NewSplitter(r io.Reader, offset int64) *Splitter {
	s := new(Splitter)
	s.Reset(r, offset)
	return s
}

// Reset starts a new log: r, whose first byte has that offset.
func (s *Splitter) Reset(r io.Reader, offset int64) {
	if s.home != nil {
		s.buf, s.home = s.home, nil
	}
	if s.buf == nil {
		s.buf = make([]byte, chunk)
	}
	s.r, s.base, s.step, s.err = r, offset, firstRead, nil
	s.pos, s.n, s.seen = 0, 0, 0
}

// ResetAt starts a new log: the bytes [offset, end) of r. If r ends before end, Next returns io.ErrUnexpectedEOF and no torn
// record: the log was truncated while it was read.
func (s *Splitter) ResetAt(r io.ReaderAt, offset, end int64) {
	s.sect = section{r: r, off: offset, end: end}
	s.Reset(&s.sect, offset)
}

// Next returns the next record, io.EOF after the last one, the error of the reader, or a *LongError. An incomplete line before an error is
// not yielded: only at the end of a log is a record torn.
func (s *Splitter) Next() (Record, error) {
	for {
		if i := bytes.IndexByte(s.buf[s.seen:s.n], '\n'); i >= 0 {
			end := s.seen + i
			data := s.buf[s.pos:end:end]
			if k := len(data); k > 0 && data[k-1] == '\r' {
				data = data[: k-1 : k-1]
			}
			rec := Record{Offset: s.base + int64(s.pos), Data: data, End: s.base + int64(end) + 1}
			s.pos, s.seen = end+1, end+1
			return rec, nil
		}
		s.seen = s.n
		if s.err != nil || s.r == nil {
			return s.last()
		}
		s.fill()
	}
}

// All yields what Next returns up to the end of the log. It ends after the first error, or with the cause of ctx once that is done.
func (s *Splitter) All(ctx context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		done := ctx.Done()
		for {
			r, err := s.Next()
			if err == io.EOF { //nolint:errorlint // a wrapped one is a failure, such as a lost connection
				return
			}
			select {
			case <-done:
				r, err = Record{}, context.Cause(ctx)
			default:
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// last returns the unterminated last record, or the error of the reader.
func (s *Splitter) last() (Record, error) {
	if s.r == nil {
		return Record{}, io.EOF
	}
	if s.err != io.EOF || s.pos == s.n { //nolint:errorlint // see All
		return Record{}, s.err
	}
	rec := Record{Offset: s.base + int64(s.pos), Data: s.buf[s.pos:s.n:s.n], End: s.base + int64(s.n), Torn: true}
	s.pos = s.n
	return rec, nil
}

// fill makes room and reads once.
func (s *Splitter) fill() {
	s.base += int64(s.pos)
	pending := s.buf[s.pos:s.n]
	switch {
	case s.home != nil && len(pending) < chunk/2:
		// The long line is done: release its buffer. With a limit of a whole chunk, lines of almost that length would
		// switch buffers again and again.
		s.n = copy(s.home, pending)
		s.buf, s.home = s.home, nil
	case len(pending) == len(s.buf):
		size, ok := s.bigger(len(pending))
		if !ok {
			s.err = &LongError{Offset: s.base, Most: s.most()}
			return
		}
		bigger := make([]byte, size)
		s.n = copy(bigger, pending)
		if s.home == nil {
			s.home = s.buf
		}
		s.buf = bigger
	default:
		s.n = copy(s.buf, pending)
	}
	s.seen -= s.pos
	s.pos = 0

	room := s.buf[s.n:]
	if s.step < chunk {
		room = room[:min(len(room), s.step)]
		s.step *= 4
	}
	for range idleReads {
		n, err := s.r.Read(room)
		s.n += n
		if err != nil {
			s.err = err
			return
		}
		if n > 0 {
			return
		}
	}
	s.err = io.ErrNoProgress
}

func (s *Splitter) most() int { return cmp.Or(s.Most, Longest) }

// bigger returns the buffer size for a line of which pending bytes are read; ok is false if the line is too long. With random access it
// finds the end of the line first: doubling would make a buffer of up to twice the size, while the previous one is still in use.
func (s *Splitter) bigger(pending int) (size int, ok bool) {
	most := s.most()
	if s.r != &s.sect || s.home == nil {
		return min(2*pending, most), pending < most
	}
	at := s.sect.off
	for at < s.sect.end && at-s.sect.off <= int64(most-pending) {
		window := s.home[:min(int64(len(s.home)), s.sect.end-at)]
		n, err := s.sect.r.ReadAt(window, at)
		if i := bytes.IndexByte(window[:n], '\n'); i >= 0 {
			at += int64(i) + 1
			break
		}
		if at += int64(n); err != nil {
			break // the next read reports it
		}
	}
	size = pending + max(int(at-s.sect.off), 1)
	return size, size <= most
}

// section reads [off, end) of r. Unlike io.SectionReader it reports an early end of r as an error.
type section struct {
	r        io.ReaderAt
	off, end int64
}

// Read implements io.Reader.
func (s *section) Read(p []byte) (int, error) {
	if s.off >= s.end {
		return 0, io.EOF
	}
	if left := s.end - s.off; int64(len(p)) > left {
		p = p[:left]
	}
	n, err := s.r.ReadAt(p, s.off)
	s.off += int64(n)
	switch {
	case n == len(p):
		// ReadAt may return io.EOF with the last bytes.
		return n, nil
	case err == nil || errors.Is(err, io.EOF):
		return n, io.ErrUnexpectedEOF
	}
	return n, err
}
