package server

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
)

// What a slow client may hold.
const (
	// pieceBytes is how much is written at a time: it must be accepted within writeTime.
	pieceBytes = 16 << 10
	// heldMost is how much of an answer may wait for its client. Larger ones are sent by few at a time.
	heldMost = 64 << 10
	// gzipLeast is the size from which packing is worth it.
	gzipLeast = 1 << 10
)

var (
	buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}
	packers = sync.Pool{New: func() any {
		z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is a valid one
		return z
	}}
	unpackers = sync.Pool{New: func() any { return new(gzip.Reader) }}
)

// release puts a buffer back, unless it is so large that it would be a waste.
func release(b *bytes.Buffer) {
	if b.Cap() <= 4<<20 {
		b.Reset()
		buffers.Put(b)
	}
}

// errNotModified ends an operation whose client has the answer already.
var errNotModified = errors.New("not modified")

// made makes an answer in memory, when a slot is free, and sends it.
func (r *request) made(media string, f func(*bytes.Buffer) error) error {
	a, err := r.make(f)
	if err != nil {
		return err
	}
	r.w.Header().Set("Content-Type", media)
	return a.send(r)
}

// make makes an answer. The slot and the buffer are free again before anything is sent.
func (r *request) make(f func(*bytes.Buffer) error) (a answer, err error) {
	select {
	case r.s.slots <- struct{}{}:
		defer func() { <-r.s.slots }()
	case <-r.Context().Done():
		return a, r.Context().Err()
	}
	b := buffers.Get().(*bytes.Buffer)
	defer release(b)
	if err = f(b); err == nil {
		a = packed(b.Bytes(), takesGzip(r.Request))
	}
	return a, err
}

// takesGzip reports whether a client takes packed answers.
func takesGzip(r *http.Request) bool {
	for one := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, weighed := strings.Cut(strings.ReplaceAll(one, " ", ""), ";q=")
		if name != "gzip" && name != "*" {
			continue
		}
		if q, err := strconv.ParseFloat(weight, 64); !weighed || err == nil && q > 0 {
			return true
		}
	}
	return false
}

// answer is a body that waits to be sent. It is small: either packed as a whole, for a client that unpacks it, or packed in
// pieces that are unpacked one at a time.
type answer struct {
	size   int
	gzip   bool
	pieces [][]byte
	packed bool // each piece is packed by itself
}

// packed makes an answer of bytes that the caller uses again.
func packed(text []byte, gzips bool) answer {
	switch {
	case len(text) < gzipLeast:
		return answer{size: len(text), pieces: [][]byte{bytes.Clone(text)}}
	case gzips:
		whole := pack(text)
		return answer{size: len(whole), gzip: true, pieces: [][]byte{whole}}
	case len(text) <= heldMost:
		return answer{size: len(text), pieces: [][]byte{bytes.Clone(text)}}
	}
	a := answer{size: len(text), packed: true}
	for len(text) > 0 {
		n := min(len(text), pieceBytes)
		a.pieces = append(a.pieces, pack(text[:n]))
		text = text[n:]
	}
	return a
}

func pack(text []byte) []byte {
	b := buffers.Get().(*bytes.Buffer)
	defer release(b)
	z := packers.Get().(*gzip.Writer)
	defer packers.Put(z)
	z.Reset(b)
	_, _ = z.Write(text) // a buffer returns no error
	_ = z.Close()
	return bytes.Clone(b.Bytes())
}

// unpack gives what pack packed.
func unpack(piece []byte) ([]byte, error) {
	z := unpackers.Get().(*gzip.Reader)
	defer unpackers.Put(z)
	if err := z.Reset(bytes.NewReader(piece)); err != nil {
		return nil, err
	}
	text := make([]byte, 0, pieceBytes+1)
	b := bytes.NewBuffer(text)
	_, err := io.Copy(b, z)
	return b.Bytes(), err
}

// held is how many bytes wait.
func (a *answer) held() int {
	n := 0
	for _, p := range a.pieces {
		n += len(p)
	}
	return n
}

// send writes an answer. One that is larger than a client may hold waits until few enough others are being sent.
func (a *answer) send(r *request) error {
	if a.held() > heldMost {
		select {
		case r.s.large <- struct{}{}:
			defer func() { <-r.s.large }()
		case <-r.Context().Done():
			return r.Context().Err()
		}
	}
	h := r.w.Header()
	if a.gzip {
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Length", strconv.Itoa(a.size))
	if r.Method == http.MethodHead {
		return nil
	}
	w := &patient{w: r.w, c: http.NewResponseController(r.w)}
	for i, p := range a.pieces {
		if a.packed {
			text, err := unpack(p)
			if err != nil {
				return err
			}
			p, a.pieces[i] = text, nil
		}
		if _, err := w.Write(p); err != nil {
			return err
		}
	}
	return nil
}

// patient writes to a client, which has writeTime to accept each piece.
type patient struct {
	w io.Writer
	c *http.ResponseController
}

// Write implements io.Writer.
func (p *patient) Write(b []byte) (n int, err error) {
	for len(b) > 0 {
		// Deadlines are of the machine's own clock. A recorder of tests has none.
		if err := p.c.SetWriteDeadline(time.Now().Add(writeTime)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return n, err
		}
		m, err := p.w.Write(b[:min(len(b), pieceBytes)])
		n, b = n+m, b[m:]
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// streamed sends an answer while it is made. f must not hold a lock while it writes. What goes wrong after the first piece
// ends the connection, so that the client does not take a part for the whole.
func (r *request) streamed(media string, f func(io.Writer) error) error {
	s := &streaming{r: r, media: media, b: buffers.Get().(*bytes.Buffer)}
	defer release(s.b)
	err := f(s)
	if err == nil {
		err = s.end()
	}
	if err != nil && s.out != nil {
		panic(http.ErrAbortHandler)
	}
	return err
}

// streaming collects pieces. The header is sent with the first one.
type streaming struct {
	r     *request
	media string
	b     *bytes.Buffer
	out   io.Writer // nil until the first piece
	z     *gzip.Writer
}

// Write implements io.Writer.
func (s *streaming) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		m := min(len(b), pieceBytes-s.b.Len())
		s.b.Write(b[:m])
		b = b[m:]
		if s.b.Len() == pieceBytes {
			if err := s.flush(); err != nil {
				return 0, err
			}
		}
	}
	return n, nil
}

// begin sends the header. The packer keeps no state between pieces: a slow client would hold it.
func (s *streaming) begin() error {
	h := s.r.w.Header()
	h.Set("Content-Type", s.media)
	s.out = &patient{w: s.r.w, c: http.NewResponseController(s.r.w)}
	if !takesGzip(s.r.Request) {
		return nil
	}
	h.Set("Content-Encoding", "gzip")
	z, err := gzip.NewWriterLevel(s.out, gzip.StatelessCompression)
	s.z, s.out = z, z
	return err
}

func (s *streaming) flush() error {
	if s.out == nil {
		if err := s.begin(); err != nil {
			return err
		}
	}
	if s.r.Method == http.MethodHead {
		s.b.Reset()
		return nil
	}
	_, err := s.out.Write(s.b.Bytes())
	s.b.Reset()
	return err
}

// end sends the rest. An answer of one piece is sent with its length.
func (s *streaming) end() error {
	if s.out == nil {
		a := packed(s.b.Bytes(), takesGzip(s.r.Request))
		s.r.w.Header().Set("Content-Type", s.media)
		return a.send(s.r)
	}
	if err := s.flush(); err != nil || s.z == nil || s.r.Method == http.MethodHead {
		return err
	}
	return s.z.Close()
}

// unchanged sets the tag of the answer and reports whether the client has it already.
func (r *request) unchanged(tag string) bool {
	tag = `W/"` + tag + `"`
	r.w.Header().Set("Etag", tag)
	for one := range strings.SplitSeq(r.Header.Get("If-None-Match"), ",") {
		if one = strings.TrimSpace(one); one == tag || one == "*" {
			return true
		}
	}
	return false
}
