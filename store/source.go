package store

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/session"
)

// logSource gives the bytes of spans from the opened log. When the log has grown it is opened again, at the first look
// behind its old end.
type logSource struct {
	b backend.Backend

	mu sync.Mutex
	at backend.Log
	r  backend.Reader // nil: to be opened
}

// newSource opens the log for random access.
func newSource(ctx context.Context, b backend.Backend, at backend.Log) (*logSource, error) {
	s := &logSource{b: b, at: at}
	return s, s.open(ctx)
}

func (s *logSource) open(ctx context.Context) error {
	if o, ok := s.b.(backend.Opener); ok {
		r, err := o.Open(ctx, s.at)
		if err != nil {
			return err
		}
		s.r = r
		return nil
	}
	// A backend without random access is read once into memory.
	all := make([]byte, s.at.Size)
	for r, err := range s.b.Read(ctx, s.at, 0) {
		if err != nil {
			return err
		}
		copy(all[r.Offset:], r.Data)
	}
	s.r = memoryReader{bytes.NewReader(all)}
	return nil
}

type memoryReader struct{ *bytes.Reader }

func (memoryReader) Close() error { return nil }

// moved says what the log is now.
func (s *logSource) moved(at backend.Log) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = at
	if s.r != nil {
		s.r.Close()
		s.r = nil
	}
}

// Bytes implements session.Source.
func (s *logSource) Bytes(span session.Span) ([]byte, error) {
	s.mu.Lock()
	if s.r == nil {
		if err := s.open(context.Background()); err != nil {
			s.mu.Unlock()
			return nil, err
		}
	}
	r := s.r
	s.mu.Unlock()
	b := make([]byte, span.Length)
	if n, err := r.ReadAt(b, span.Offset); int64(n) < span.Length {
		if err == nil || errors.Is(err, io.EOF) {
			err = backend.ErrChanged
		}
		return nil, err
	}
	return b, nil
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
