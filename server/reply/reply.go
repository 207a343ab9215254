// Package reply sends the answers of an HTTP server. An answer is first made in memory, at most as many at a time as there are slots, and
// then sent. What a slow client has not read after a moment waits in a temporary file, so that such a client holds only a small buffer and
// no lock. An answer of unknown length is sent while it is made.
package reply

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/treeline-dev/treeline/internal/spill"
)

// Limits on what a slow client holds.
const (
	// Piece is the number of bytes that are written at a time. The client must accept each piece within the Sender's patience.
	Piece = 8 << 10
	// slowTime is how long an answer waits in memory for its client.
	slowTime = 100 * time.Millisecond
	// gzipLeast is the size from which compression is worth it.
	gzipLeast = 1 << 10
)

var (
	buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}
	packers = sync.Pool{New: func() any {
		z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is valid
		return z
	}}
)

// release puts a buffer back into the pool, unless it is so large that keeping it would waste memory.
func release(b *bytes.Buffer) {
	if b.Cap() <= 4<<20 {
		b.Reset()
		buffers.Put(b)
	}
}

// Sender sends answers.
type Sender struct {
	slots    chan struct{} // one for each answer that is being made
	patience time.Duration
	log      *slog.Logger
}

// NewSender returns a Sender. patience is how long a client may take to accept each piece; log receives other failures.
func NewSender(patience time.Duration, log *slog.Logger) *Sender {
	return &Sender{make(chan struct{}, max(4, 2*runtime.GOMAXPROCS(0))), patience, log}
}

// Made makes an answer in memory when a slot is free, and sends it. The slot is released before anything is sent.
func (s *Sender) Made(w http.ResponseWriter, r *http.Request, media string, f func(*bytes.Buffer) error) error {
	a, err := s.make(r, f)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", media)
	return s.send(w, r, a)
}

func (s *Sender) make(r *http.Request, f func(*bytes.Buffer) error) (a *answer, err error) {
	if err := s.slot(r); err != nil {
		return a, err
	}
	defer s.free()
	b := buffers.Get().(*bytes.Buffer)
	defer release(b)
	if err = f(b); err == nil {
		a = packed(b.Bytes(), takesGzip(r))
	}
	return a, err
}

// slot waits for a slot.
func (s *Sender) slot(r *http.Request) error {
	select {
	case s.slots <- struct{}{}:
		return nil
	case <-r.Context().Done():
		return r.Context().Err()
	}
}

func (s *Sender) free() { <-s.slots }

// Bytes sends bytes as they are. When a slot is free, read loads them into memory.
func (s *Sender) Bytes(w http.ResponseWriter, r *http.Request, read func() ([]byte, error)) error {
	data, err := s.read(r, read)
	if err != nil {
		return err
	}
	return s.send(w, r, &answer{text: data, size: len(data)})
}

func (s *Sender) read(r *http.Request, read func() ([]byte, error)) ([]byte, error) {
	if err := s.slot(r); err != nil {
		return nil, err
	}
	defer s.free()
	return read()
}

// takesGzip reports whether a client accepts gzip.
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

// answer is a body while it is sent.
type answer struct {
	gzip bool

	mu   sync.Mutex
	text []byte       // the whole body; nil once it is in rest
	rest *spill.Bytes // the whole body of a client that reads slowly; nil otherwise
	size int
}

// packed makes an answer of a copy of text, compressed if gzips is set; the caller may use text again.
func packed(text []byte, gzips bool) *answer {
	if !gzips || len(text) < gzipLeast {
		return &answer{text: bytes.Clone(text), size: len(text)}
	}
	b := buffers.Get().(*bytes.Buffer)
	defer release(b)
	z := packers.Get().(*gzip.Writer)
	defer packers.Put(z)
	z.Reset(b)
	_, _ = z.Write(text) // a buffer returns no error
	_ = z.Close()
	return &answer{gzip: true, text: bytes.Clone(b.Bytes()), size: b.Len()}
}

// send writes an answer. What a slow client has not accepted after slowTime waits in a file.
func (s *Sender) send(to http.ResponseWriter, r *http.Request, a *answer) error {
	h := to.Header()
	if a.gzip {
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Length", strconv.Itoa(a.size))
	if r.Method == http.MethodHead {
		to.WriteHeader(http.StatusOK)
		return nil
	}
	w := s.Patient(to)
	if a.size <= Piece {
		_, err := w.Write(a.text)
		return err
	}
	slow := time.AfterFunc(slowTime, func() {
		if err := a.shed(); err != nil {
			s.log.Warn("the answer for a slow client stays in memory", "error", err)
		}
	})
	defer a.drop()
	defer slow.Stop()
	piece := make([]byte, Piece)
	for from := 0; from < a.size; {
		n, err := a.read(piece, from)
		if err != nil {
			return err
		}
		if _, err := w.Write(piece[:n]); err != nil {
			return err
		}
		from += n
	}
	return nil
}

// shed moves the rest of the answer to a file.
func (a *answer) shed() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.text == nil {
		return nil
	}
	rest := &spill.Bytes{}
	_, err := rest.Write(a.text)
	if err == nil {
		err = rest.Shed()
	}
	if err != nil {
		return errors.Join(err, rest.Close())
	}
	a.text, a.rest = nil, rest
	return nil
}

// read copies a piece of the answer from memory or from the file.
func (a *answer) read(piece []byte, from int) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.rest == nil {
		return copy(piece, a.text[from:]), nil
	}
	n, err := a.rest.ReadAt(piece, int64(from))
	if n > 0 {
		err = nil // the last piece is shorter
	}
	return n, err
}

// drop releases the answer's memory or file.
func (a *answer) drop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.text = nil
	if a.rest != nil {
		_ = a.rest.Close() // a temporary file
	}
}

// Patient is a writer to a client that has some time to accept each piece.
type Patient struct {
	w    io.Writer
	c    *http.ResponseController
	time time.Duration
}

// Patient returns the writer to a client.
func (s *Sender) Patient(w http.ResponseWriter) *Patient {
	return &Patient{w, http.NewResponseController(w), s.patience}
}

// Flush sends what was written so far.
func (p *Patient) Flush() error { return p.c.Flush() }

// ErrGone means that the client does not accept the answer. The connection ends, and nobody is left to tell.
var ErrGone = errors.New("the client is gone")

// Write implements io.Writer.
func (p *Patient) Write(b []byte) (n int, err error) {
	for len(b) > 0 {
		// The deadline is by the machine's clock. An httptest.ResponseRecorder supports none.
		if err := p.c.SetWriteDeadline(time.Now().Add(p.time)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return n, fmt.Errorf("%w: %v", ErrGone, err)
		}
		m, err := p.w.Write(b[:min(len(b), Piece)])
		n, b = n+m, b[m:]
		if err != nil {
			return n, fmt.Errorf("%w: %v", ErrGone, err)
		}
	}
	return n, nil
}

// Streamed sends an answer while it is made. f must not hold a lock while it writes. A failure after the first piece ends the connection,
// so that the client does not take a part for the whole.
func (s *Sender) Streamed(w http.ResponseWriter, r *http.Request, media string, f func(io.Writer) error) error {
	t := &streaming{s: s, w: w, r: r, media: media, b: bytes.NewBuffer(make([]byte, 0, Piece))}
	err := f(t)
	if err == nil {
		err = t.end()
	}
	if err != nil && t.out != nil {
		panic(http.ErrAbortHandler)
	}
	return err
}

// streaming collects pieces. The header is sent with the first one.
type streaming struct {
	s     *Sender
	w     http.ResponseWriter
	r     *http.Request
	media string
	b     *bytes.Buffer
	out   io.Writer // nil until the first piece
	// z compresses a piece into packed, and is released before the piece is sent, so that a slow client holds no compressor.
	z      *gzip.Writer // nil for a client that does not accept gzip
	packed bytes.Buffer
}

// Write implements io.Writer.
func (s *streaming) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		m := min(len(b), Piece-s.b.Len())
		s.b.Write(b[:m])
		b = b[m:]
		if s.b.Len() == Piece {
			if err := s.flush(); err != nil {
				return 0, err
			}
		}
	}
	return n, nil
}

// begin sends the header.
func (s *streaming) begin() (err error) {
	h := s.w.Header()
	h.Set("Content-Type", s.media)
	s.out = s.s.Patient(s.w)
	if takesGzip(s.r) {
		h.Set("Content-Encoding", "gzip")
		s.z, err = gzip.NewWriterLevel(&s.packed, gzip.StatelessCompression)
	}
	return err
}

// flush sends what was collected.
func (s *streaming) flush() error {
	if s.out == nil {
		if err := s.begin(); err != nil {
			return err
		}
	}
	defer s.b.Reset()
	defer s.packed.Reset()
	text := s.b.Bytes()
	if s.z != nil {
		if _, err := s.z.Write(text); err != nil {
			return err
		}
		text = s.packed.Bytes()
	}
	return s.write(text)
}

func (s *streaming) write(text []byte) error {
	if s.r.Method == http.MethodHead {
		return nil
	}
	_, err := s.out.Write(text)
	return err
}

// end sends the rest. An answer of one piece is sent with its length.
func (s *streaming) end() error {
	if s.out == nil {
		s.w.Header().Set("Content-Type", s.media)
		return s.s.send(s.w, s.r, packed(s.b.Bytes(), takesGzip(s.r)))
	}
	if err := s.flush(); err != nil || s.z == nil {
		return err
	}
	if err := s.z.Close(); err != nil {
		return err
	}
	return s.write(s.packed.Bytes())
}

// Unchanged sets the entity tag of the answer, and reports whether the client already has it.
func Unchanged(w http.ResponseWriter, r *http.Request, tag string) bool {
	tag = `W/"` + tag + `"`
	w.Header().Set("Etag", tag)
	for one := range strings.SplitSeq(r.Header.Get("If-None-Match"), ",") {
		if one = strings.TrimSpace(one); one == tag || one == "*" {
			return true
		}
	}
	return false
}
