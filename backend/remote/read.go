package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/remote/protocol"
	"github.com/treeline-dev/treeline/internal/jsonl"
)

// log returns the log of a row. It refuses a row of another log.
func (b *Backend) log(row protocol.Row, name string) (backend.Log, error) {
	at := row.Log().Log
	if at.Name != b.full(name) || at.Size < 0 || at.Generation == "" {
		return backend.Log{}, fmt.Errorf("%s: %w: it describes another log", name, ErrNotServer)
	}
	at.Name = name
	return at, nil
}

// Stat implements backend.Backend.
func (b *Backend) Stat(ctx context.Context, name string) (backend.Log, error) {
	ctx, done, err := b.begin(ctx, name)
	defer done()
	if err != nil {
		return backend.Log{}, err
	}
	var row protocol.Row
	if err := b.json(ctx, ask{path: protocol.Logs + "/stat", query: url.Values{"name": {b.full(name)}}}, &row); err != nil {
		return backend.Log{}, err
	}
	return b.log(row, name)
}

// part asks for bytes of a log: [from,to), and tail bytes of its end.
type part struct {
	from, to, tail int64
	hold           bool
	rest           bool // to the end, as a stream
}

// get begins to read a part of a log, as at shows it, or as it is now if at has only a name.
func (b *Backend) get(ctx context.Context, at backend.Log, p part) (*answer, backend.Log, error) {
	q := b.at(at)
	q.Set("from", strconv.FormatInt(p.from, 10))
	if !p.rest {
		q.Set("to", strconv.FormatInt(p.to, 10))
	}
	if p.tail > 0 {
		q.Set("tail", strconv.FormatInt(p.tail, 10))
	}
	if p.hold {
		q.Set("hold", "true")
	}
	res, _, err := b.persist(ctx, ask{path: protocol.Logs + "/content", query: q})
	if err != nil {
		return nil, at, err
	}
	now, err := protocol.Described(res.Header, at.Name)
	if err == nil && at.Generation != "" && (now.Generation != at.Generation || now.Size != at.Size) {
		err = errors.New("it describes another log")
	}
	if err != nil {
		res.Close()
		return nil, at, fmt.Errorf("%s: %w: %v", at.Name, ErrNotServer, err)
	}
	if at.Generation == "" {
		at = now
	}
	return res, at, nil
}

// fetch reads a part of a log into rooms, one after the other. It repeats what is cut off.
func (b *Backend) fetch(ctx context.Context, at backend.Log, p part, rooms ...[]byte) error {
	for try := 0; ; try++ {
		res, _, err := b.get(ctx, at, p)
		if err != nil {
			return err
		}
		err = fill(res.body, rooms...)
		res.Close()
		if err == nil || ctx.Err() != nil || try == 3 || errors.Is(err, errLong) {
			return b.cutOff(ctx, at.Name, err)
		}
	}
}

// cutOff returns the error for an answer that was cut off, or is not what was asked for.
func (b *Backend) cutOff(ctx context.Context, name string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, errLong):
		return fmt.Errorf("%s: %w: %v", name, ErrNotServer, err)
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF // io.EOF would be the end of the log
	}
	return fmt.Errorf("%s: the answer of %s was cut off: %w", name, b.base.Host, err)
}

var errLong = errors.New("the answer has more bytes than were asked for")

// fill reads exactly so many bytes of an answer.
func fill(body io.Reader, rooms ...[]byte) error {
	for _, room := range rooms {
		if _, err := io.ReadFull(body, room); err != nil {
			return err
		}
	}
	return atEnd(body)
}

// atEnd checks that nothing follows, which also makes the connection ready for the next request.
func atEnd(body io.Reader) error {
	var more [1]byte
	n, err := io.ReadFull(body, more[:])
	if n > 0 {
		return errLong
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

const (
	// window is how much is read at first: most logs are shorter than twice that, and lists read only the beginning of many.
	window = 64 << 10
	// windowMost is how much is read at a time by a caller that reads sequentially.
	windowMost = 1 << 20
)

// stream reads a log from an offset to its end: a window first, then the rest in one answer. It continues where it was after a lost
// connection.
type stream struct {
	b    *Backend
	ctx  context.Context
	at   backend.Log
	hold bool
	off  int64
	stop int64 // end of the answer that is being read
	res  *answer
	lost time.Time // since when the connection has been lost

	pause time.Duration
}

// Read implements io.Reader.
func (s *stream) Read(p []byte) (int, error) {
	for {
		if s.res == nil {
			if s.off == s.at.Size {
				return 0, io.EOF
			}
			if err := s.ask(); err != nil {
				return 0, err
			}
		}
		n, err := s.res.body.Read(p[:min(int64(len(p)), s.stop-s.off)])
		if n > 0 {
			s.lost = time.Time{}
			if s.off += int64(n); s.off == s.stop {
				if err := atEnd(s.res.body); errors.Is(err, errLong) {
					return 0, s.b.cutOff(s.ctx, s.at.Name, err)
				}
				s.close()
			}
			return n, nil
		}
		if err == nil {
			continue
		}
		s.close()
		if s.ctx.Err() != nil {
			return 0, context.Cause(s.ctx)
		}
		if s.lost.IsZero() {
			s.lost, s.pause = time.Now(), shortPause
		} else if time.Since(s.lost) > s.b.core.opt.Patience {
			return 0, s.b.cutOff(s.ctx, s.at.Name, err)
		}
		s.pause = wait(s.ctx, s.pause)
	}
}

// ask begins the next answer.
func (s *stream) ask() (err error) {
	p := part{from: s.off, to: s.off + window, hold: s.hold}
	if s.stop > 0 || s.at.Size-s.off < 2*window {
		p.rest = true
	}
	s.res, _, err = s.b.get(s.ctx, s.at, p)
	if s.stop > 0 && errors.Is(err, backend.ErrNotExist) {
		err = &refusal{err.Error(), backend.ErrChanged} // the log was there a moment ago
	}
	if s.stop = p.to; p.rest {
		s.stop = s.at.Size
	}
	return err
}

func (s *stream) close() {
	if s.res != nil {
		s.res.Close()
		s.res = nil
	}
}

// Read implements backend.Backend.
func (b *Backend) Read(ctx context.Context, at backend.Log, offset int64) iter.Seq2[backend.Record, error] {
	return func(yield func(backend.Record, error) bool) {
		b.records(ctx, at, offset, false, yield)
	}
}

// records yields the records of a log.
func (b *Backend) records(ctx context.Context, at backend.Log, offset int64, hold bool, yield func(backend.Record, error) bool) {
	ctx, done, err := b.begin(ctx, at.Name)
	defer done()
	if err == nil && at.Generation == "" {
		_, err = b.Stat(ctx, at.Name) // the log may not exist, or be unreadable
		if err == nil {
			err = fmt.Errorf("%s: %w", at.Name, backend.ErrNotExist)
		}
	}
	if err == nil {
		err = backend.CheckOffset(at.Name, offset, at.Size)
	}
	if err == nil && offset == at.Size { // only compared
		err = b.fetch(ctx, at, part{from: offset, to: offset, hold: hold})
	}
	if err != nil {
		yield(backend.Record{}, err)
		return
	}
	s := &stream{b: b, ctx: ctx, at: at, hold: hold, off: offset}
	defer s.close()
	if !backend.IsText(at.Name) {
		if offset == 0 {
			data, err := all(s, at.Size)
			yield(backend.Record{Data: data, End: at.Size}, err)
		}
		return
	}
	for r, err := range jsonl.NewSplitter(s, offset).All(ctx) {
		if !yield(backend.Record(r), backend.LongLine(at.Name, err)) {
			return
		}
	}
}

// all reads so many bytes. The memory grows with what arrives, not with what a server promises.
func all(r io.Reader, size int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, size))
	if err == nil && int64(len(data)) < size {
		err = io.ErrUnexpectedEOF
	}
	return data, err
}

// held is a log that the server holds open.
type held struct {
	b  *Backend
	at backend.Log

	mu    sync.Mutex
	begin int64
	room  []byte // read last
}

// Open implements backend.Opener. It reads the beginning of the log.
func (b *Backend) Open(ctx context.Context, at backend.Log) (backend.Reader, error) {
	if at.Generation == "" {
		if _, err := b.Stat(ctx, at.Name); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%s: %w", at.Name, backend.ErrNotExist)
	}
	_, r, err := b.open(ctx, at)
	return r, err
}

// OpenNow implements backend.NowOpener.
func (b *Backend) OpenNow(ctx context.Context, name string) (backend.Log, backend.Reader, error) {
	return b.open(ctx, backend.Log{Name: name})
}

func (b *Backend) open(ctx context.Context, at backend.Log) (backend.Log, backend.Reader, error) {
	ctx, done, err := b.begin(ctx, at.Name)
	defer done()
	if err != nil {
		return backend.Log{}, nil, err
	}
	for try := 0; ; try++ {
		res, now, err := b.get(ctx, at, part{to: window, hold: true})
		if err != nil {
			return backend.Log{}, nil, err
		}
		h := &held{b: b, at: now, room: make([]byte, min(now.Size, window))}
		err = fill(res.body, h.room)
		res.Close()
		if err == nil {
			return now, h, nil
		}
		if ctx.Err() != nil || try == 3 || errors.Is(err, errLong) {
			return backend.Log{}, nil, b.cutOff(ctx, at.Name, err)
		}
	}
}

// ReadAt implements io.ReaderAt. It reads a little more than it was asked for, since callers read neighbouring parts.
func (h *held) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, fmt.Errorf("%s: offset %d is negative", h.at.Name, off)
	}
	if h.b.closed.Load() {
		return 0, backend.ErrClosed
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for n < len(p) {
		at := off + int64(n)
		if at >= h.at.Size {
			return n, io.EOF
		}
		if at >= h.begin && at < h.begin+int64(len(h.room)) {
			n += copy(p[n:], h.room[at-h.begin:])
			continue
		}
		if left := min(int64(len(p)-n), h.at.Size-at); left >= window {
			room := p[n : n+int(min(left, 8*windowMost))]
			if err := h.b.fetch(h.b.ctx, h.at, part{from: at, to: at + int64(len(room)), hold: true}, room); err != nil {
				return n, h.b.gone(err)
			}
			n += len(room)
			continue
		}
		size := int64(window)
		if at == h.begin+int64(len(h.room)) { // the caller reads on
			size = min(2*int64(len(h.room)), windowMost)
		}
		room := make([]byte, min(max(size, window), h.at.Size-at))
		if err := h.b.fetch(h.b.ctx, h.at, part{from: at, to: at + int64(len(room)), hold: true}, room); err != nil {
			return n, h.b.gone(err)
		}
		h.begin, h.room = at, room
	}
	return n, nil
}

// gone returns ErrClosed if the Backend is closed, and ErrChanged if the server no longer holds the log.
func (b *Backend) gone(err error) error {
	if b.closed.Load() {
		return backend.ErrClosed
	}
	if errors.Is(err, backend.ErrNotExist) {
		return &refusal{err.Error(), backend.ErrChanged} // the server released it
	}
	return err
}

// Records implements backend.RecordReader.
func (h *held) Records(ctx context.Context, offset int64) iter.Seq2[backend.Record, error] {
	return func(yield func(backend.Record, error) bool) { h.b.records(ctx, h.at, offset, true, yield) }
}

// Close implements io.Closer. The server releases the log by itself.
func (h *held) Close() error { return nil }

// Ends implements backend.EndReader.
func (b *Backend) Ends(ctx context.Context, at backend.Log, head, tail []byte) (inHead, inTail int, err error) {
	ctx, done, err := b.begin(ctx, at.Name)
	defer done()
	if err == nil && at.Generation == "" {
		_, err = b.Open(ctx, at) // Open returns why there is no such log
	}
	if err != nil {
		return 0, 0, err
	}
	inHead = int(min(int64(len(head)), at.Size))
	inTail = int(min(int64(len(tail)), at.Size-int64(inHead)))
	if err := b.fetch(ctx, at, part{to: int64(inHead), tail: int64(inTail)}, head[:inHead], tail[:inTail]); err != nil {
		return 0, 0, err
	}
	return inHead, inTail, nil
}
