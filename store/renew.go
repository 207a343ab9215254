package store

import (
	"context"
	"errors"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/session"
)

// reading is what a session that is open for reading needs to read on: see Renew.
type reading struct {
	tail    logtree.Tail
	builder *session.Builder
	dec     dialect.Decoder
}

// Renew reads what other programs appended to a session that is open for reading. It gives logtree.Same or
// logtree.Grown; after any other change the session stays as it was, and the caller opens it again.
//
// A tree must not be read while it grows: View waits, and a caller that uses Tree must not call Renew at the same time.
func (s *Session) Renew(ctx context.Context) (logtree.Change, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.r
	switch {
	case s.w != nil:
		return logtree.Same, s.named(errors.New("a session that is open for writing reads on by itself"))
	case r == nil:
		return logtree.Replaced, nil // an earlier call was interrupted
	case s.closed:
		return logtree.Same, s.named(backend.ErrClosed)
	case r.tail.Backend == nil:
		// The beginning is remembered with the first call: most sessions are read once.
		head, err := s.source.Bytes(session.Span{Length: min(s.tree.Header().Span.End(), logtree.HeadMost)})
		if err != nil {
			return logtree.Replaced, nil //nolint:nilerr // the log is another one by now
		}
		r.tail.Backend, r.tail.Head = s.at.Backend, head
	}
	now, change, err := r.tail.Look(ctx)
	switch {
	case err != nil:
		return change, s.named(err)
	case change == logtree.Grown && r.tail.Unterminated:
		return logtree.Replaced, nil // the last record may have been continued
	case change != logtree.Grown:
		return change, nil
	}
	for record, err := range r.tail.Records(ctx, now) {
		if err != nil {
			s.r = nil // the tree has a part of what was written: it is not read on
			return logtree.Replaced, s.named(err)
		}
		r.dec.Decode(record)
	}
	r.builder.Finish()
	s.log = now
	s.source.Grown(now)
	return logtree.Grown, nil
}
