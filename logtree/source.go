package logtree

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/session"
)

// Source reads spans of a log that is held open. It implements session.Source.
//
// When the log grows, Grown tells the source, which then reopens the log at the first read beyond the old end. A log that is
// replaced gets a new source; older trees and contexts keep reading the old bytes from the old one (see Retire).
type Source struct {
	b backend.Backend

	mu      sync.RWMutex // held for reading while r is in use
	at      backend.Log
	r       backend.Reader // nil: not opened yet
	size    int64          // how far r reads
	retired bool           // the log was replaced: it is not opened again
	closed  bool
	others  []*Source // logs that are closed and retired with this one

	ahead readAhead
}

// OpenSource opens a log for random access.
func OpenSource(ctx context.Context, b backend.Backend, at backend.Log) (*Source, error) {
	s := LazySource(b, at)
	return s, s.open(ctx)
}

// LazySource opens the log at the first read. The log may not exist yet; see Grown.
func LazySource(b backend.Backend, at backend.Log) *Source { return &Source{b: b, at: at} }

// Backend is where the log lives.
func (s *Source) Backend() backend.Backend { return s.b }

// reader returns the open reader of the log, nil if the log is not open.
func (s *Source) reader() backend.Reader {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.r
}

// open opens the log as it is now. The caller holds mu, or the source is not shared yet.
func (s *Source) open(ctx context.Context) error {
	switch {
	case s.closed:
		return ErrClosed // a reader opened now would never be closed
	case s.retired:
		return backend.ErrChanged
	}
	r, err := backend.OpenLog(ctx, s.b, s.at)
	if err != nil {
		return err
	}
	if s.r != nil {
		_ = s.r.Close()
	}
	s.r, s.size = r, s.at.Size
	return nil
}

// Grown says that the log is longer now. The open reader stays, because its bytes did not change.
func (s *Source) Grown(at backend.Log) {
	s.mu.Lock()
	s.at = at
	s.mu.Unlock()
}

// Cut says that the end of the log was cut off before it grew again.
func (s *Source) Cut(at backend.Log) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = at
	s.ahead.drop()
	if s.r != nil {
		_ = s.r.Close()
		s.r = nil
	}
}

// Hold opens the log up to its end before another log takes its name. If the log cannot be
// opened, later reads fail with backend.ErrChanged.
func (s *Source) Hold(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at.Generation != "" && (s.r == nil || s.size < s.at.Size) {
		_ = s.open(ctx)
	}
}

// Retire says that no new trees will use the source. Old trees are not counted, so the reader is closed
// when the garbage collector finds the source unused.
func (s *Source) Retire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retired = true
	if s.r != nil {
		runtime.AddCleanup(s, func(r backend.Reader) { _ = r.Close() }, s.r)
	}
	for _, o := range s.others {
		o.Retire()
	}
}

// with makes this source close and retire another one.
func (s *Source) with(o *Source) {
	s.mu.Lock()
	s.others = append(s.others, o)
	s.mu.Unlock()
}

// Bytes implements session.Source. Spans that are asked for in the order of the log are read ahead.
func (s *Source) Bytes(span session.Span) ([]byte, error) {
	s.mu.RLock()
	for s.r == nil || span.End() > s.size {
		s.mu.RUnlock()
		if err := s.reach(span.End()); err != nil {
			return nil, err
		}
		s.mu.RLock()
	}
	defer s.mu.RUnlock()
	b := make([]byte, span.Length)
	return b, s.ahead.read(s.r, s.size, b, span.Offset)
}

// reach opens the log so that it can be read up to end.
func (s *Source) reach(end int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.r != nil && end <= s.size {
		return nil // another goroutine was faster
	}
	if end > s.at.Size {
		return backend.ErrChanged // a span of another log
	}
	return s.open(context.Background())
}

// Close implements io.Closer. A later read of what is not in memory fails with ErrClosed.
func (s *Source) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.ahead.drop()
	var err error
	for _, o := range s.others {
		err = errors.Join(err, o.Close())
	}
	if s.r != nil {
		err = errors.Join(err, s.r.Close())
		s.r = nil
	}
	return err
}

// readFull reads exactly len(b) bytes. A log that is shorter than it was has changed.
func readFull(r io.ReaderAt, b []byte, offset int64) error {
	n, err := r.ReadAt(b, offset)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = backend.ErrChanged
	}
	return err
}

// readAhead keeps one window of a log. A walk along a path asks for one small record after the other, each of which would
// otherwise cost a read of the file.
type readAhead struct {
	mu   sync.Mutex
	buf  []byte
	from int64 // where buf begins
	last int64 // the end of the last span that was asked for
	row  int   // how many spans in a row were in order
}

const (
	aheadWindow = 256 << 10
	// aheadAfter is how many spans in order count as a walk. Random access is not read ahead.
	aheadAfter = 4
)

func (a *readAhead) drop() {
	a.mu.Lock()
	a.buf = nil
	a.mu.Unlock()
}

// read fills b, from the window if it can. size is the end of the log. Of all reads from the log, only reading ahead holds the lock.
func (a *readAhead) read(r io.ReaderAt, size int64, b []byte, offset int64) error {
	a.mu.Lock()
	end := offset + int64(len(b))
	// A gap of up to a window still counts as in order: branches lie between the entries of a path.
	if offset >= a.last && offset-a.last < aheadWindow {
		a.row++
	} else {
		a.row = 0
	}
	a.last = end
	if offset >= a.from && end <= a.from+int64(len(a.buf)) {
		copy(b, a.buf[offset-a.from:])
		a.mu.Unlock()
		return nil
	}
	if a.row < aheadAfter || len(b) > aheadWindow/2 {
		a.mu.Unlock()
		return readFull(r, b, offset)
	}
	defer a.mu.Unlock()
	n := min(aheadWindow, size-offset)
	if int64(cap(a.buf)) < n {
		a.buf = make([]byte, aheadWindow)
	}
	a.buf, a.from = a.buf[:n], offset
	if err := readFull(r, a.buf, offset); err != nil {
		a.buf = a.buf[:0]
		return err
	}
	copy(b, a.buf)
	return nil
}
