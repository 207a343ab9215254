package store

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"sync"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/session"
)

// logSource gives the bytes of spans from the opened log. When the log has grown it is opened again, at the first look
// behind its old end. A log that was replaced gets a source of its own: trees and contexts that were made before go on to
// read the old bytes from the old one.
type logSource struct {
	b backend.Backend

	mu      sync.RWMutex // held for reading while r is in use
	at      backend.Log
	r       backend.Reader // nil: to be opened
	size    int64          // how far r reads
	retired bool           // the log is another one by now: nothing is opened any more
}

// newSource opens the log for random access.
func newSource(ctx context.Context, b backend.Backend, at backend.Log) (*logSource, error) {
	s := &logSource{b: b, at: at}
	return s, s.open(ctx)
}

// open opens the log as it is now. The source is locked, or nobody else has it yet.
func (s *logSource) open(ctx context.Context) error {
	if s.retired {
		return backend.ErrChanged
	}
	r, err := s.reader(ctx)
	if err != nil {
		return err
	}
	// Nobody reads from it: readers hold the lock.
	if s.r != nil {
		s.r.Close()
	}
	s.r, s.size = r, s.at.Size
	return nil
}

func (s *logSource) reader(ctx context.Context) (backend.Reader, error) {
	if o, ok := s.b.(backend.Opener); ok {
		return o.Open(ctx, s.at)
	}
	// A backend without random access is read once into memory.
	all := make([]byte, s.at.Size)
	for r, err := range s.b.Read(ctx, s.at, 0) {
		if err != nil {
			return nil, err
		}
		copy(all[r.Offset:], r.Data)
	}
	return memoryReader{bytes.NewReader(all)}, nil
}

type memoryReader struct{ *bytes.Reader }

func (memoryReader) Close() error { return nil }

// grown says that the log is longer now. What is open stays so: all that it reads is still there.
func (s *logSource) grown(at backend.Log) {
	s.mu.Lock()
	s.at = at
	s.mu.Unlock()
}

// cut says that the end of the log was cut off before it grew.
func (s *logSource) cut(at backend.Log) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = at
	if s.r != nil {
		s.r.Close()
		s.r = nil
	}
}

// hold opens the log up to its end, before it is replaced. After the replacement the name means another file, and the old
// one could not be opened any more.
func (s *logSource) hold(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at.Generation != "" && (s.r == nil || s.size < s.at.Size) {
		// Where that does not work, those who look later are told that the log changed.
		_ = s.open(ctx)
	}
}

// retire ends the use of the source for new trees. What is open is closed when the last of the old ones is gone.
func (s *logSource) retire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retired = true
	if s.r != nil {
		// Trees are handed out without being counted: the collector knows when the last is gone.
		runtime.AddCleanup(s, func(r backend.Reader) { r.Close() }, s.r)
	}
}

// Bytes implements session.Source.
func (s *logSource) Bytes(span session.Span) ([]byte, error) {
	s.mu.RLock()
	// The common case takes no more than a lock for reading.
	for s.r == nil || span.End() > s.size {
		s.mu.RUnlock()
		if err := s.reach(span.End()); err != nil {
			return nil, err
		}
		s.mu.RLock()
	}
	defer s.mu.RUnlock()
	b := make([]byte, span.Length)
	if n, err := s.r.ReadAt(b, span.Offset); int64(n) < span.Length {
		if err == nil || errors.Is(err, io.EOF) {
			err = backend.ErrChanged
		}
		return nil, err
	}
	return b, nil
}

// reach opens the log so that it can be read up to end.
func (s *logSource) reach(end int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.r != nil && end <= s.size {
		return nil // somebody else was faster
	}
	// A span of a log that is not this one.
	if end > s.at.Size {
		return backend.ErrChanged
	}
	return s.open(context.Background())
}

// Close implements io.Closer.
func (s *logSource) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.r == nil {
		return nil
	}
	err := s.r.Close()
	s.r = nil
	return err
}
