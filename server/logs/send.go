package logs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/treeline-dev/treeline/backend/remote/protocol"
	"github.com/treeline-dev/treeline/server/guard"
)

// step is the number of bytes that a caller must accept in time.
const step = 32 << 10

// pieces are buffers for a piece.
var pieces = sync.Pool{New: func() any { return new([protocol.Piece]byte) }}

// sender writes an answer in pieces, compressed if the caller accepts it.
type sender struct {
	c      *Call
	rc     *http.ResponseController
	time   time.Duration
	media  string
	length int64
	packs  bool
	begun  bool
	frame  []byte
}

// begin prepares an answer. length is -1 if it is unknown. Nothing is sent before the first piece.
func (l *Logs) begin(c *Call, media string, length int64) *sender {
	packs := protocol.Packs(c.R.Header.Get("Accept-Encoding")) && (length < 0 || length > step)
	return &sender{c: c, rc: http.NewResponseController(c.W), time: l.opt.Patience, media: media, length: length, packs: packs}
}

// header sends the header of the answer.
func (s *sender) header() {
	s.begun = true
	h := s.c.W.Header()
	h.Set("Content-Type", s.media)
	h.Set("Cache-Control", "no-store")
	if s.packs {
		h.Set("Content-Encoding", protocol.Zstd)
	} else if s.length >= 0 {
		h.Set("Content-Length", strconv.FormatInt(s.length, 10))
	}
	s.c.W.WriteHeader(http.StatusOK)
}

// send writes a piece.
func (s *sender) send(piece []byte) error {
	if !s.begun {
		s.header()
	}
	if s.packs && len(piece) > 0 {
		s.frame = protocol.Pack(s.frame[:0], piece)
		piece = s.frame
	}
	return s.write(piece)
}

func (s *sender) write(b []byte) error {
	if s.c.R.Method == http.MethodHead {
		return nil
	}
	for len(b) > 0 {
		// The deadline is by the machine's clock. An httptest.ResponseRecorder supports none.
		if err := s.rc.SetWriteDeadline(time.Now().Add(s.time)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return err
		}
		n, err := s.c.W.Write(b[:min(len(b), step)])
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// rows collects lines of JSON into pieces.
type rows struct {
	*sender
	b bytes.Buffer
}

func (r *rows) add(v protocol.Row) error {
	if err := json.NewEncoder(&r.b).Encode(v); err != nil || r.b.Len() < step {
		return err
	}
	return r.flush()
}

func (r *rows) flush() error {
	err := r.send(r.b.Bytes())
	r.b.Reset()
	return err
}

// abort ends the connection after a part of the answer was sent, so that the caller does not take the part for the whole.
func abort(error) { panic(http.ErrAbortHandler) }

// ErrUnsent means that the answer could not be sent in full. The operation was carried out. The connection must end.
var ErrUnsent = errors.New("the answer could not be sent")

// Answer sends a value as JSON. It returns ErrUnsent if the caller does not accept the answer.
func (l *Logs) Answer(c *Call, v any) error {
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(v); err != nil {
		return err
	}
	if err := l.begin(c, protocol.JSON, int64(b.Len())).send(b.Bytes()); err != nil {
		return fmt.Errorf("%w: %v", ErrUnsent, err)
	}
	return nil
}

// Question reads a body of JSON.
func (l *Logs) Question(c *Call, most int64, into any) error {
	b, err := l.body(c, most)
	if err != nil {
		return err
	}
	defer b.close()
	text, err := io.ReadAll(b)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return guard.Refuse(http.StatusBadRequest, "the body: %v", err)
	}
	return nil
}

// stream sends size bytes of r, starting at from.
func (s *sender) stream(r io.ReaderAt, from, size int64) error {
	room := pieces.Get().(*[protocol.Piece]byte)
	defer pieces.Put(room)
	for size > 0 {
		piece := room[:min(size, protocol.Piece)]
		n, err := r.ReadAt(piece, from)
		if n < len(piece) {
			if err == nil {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		if err := s.send(piece); err != nil {
			return err
		}
		from, size = from+int64(n), size-int64(n)
	}
	return nil
}
