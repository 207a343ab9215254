package store

import (
	"context"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
)

// ErrNotSession is wrapped by the error for a log that no dialect can read.
var ErrNotSession = logtree.ErrNotSession

// OpenOptions change how a session is opened.
type OpenOptions struct {
	// Dialect reads the log whatever its content; nil detects it.
	Dialect dialect.Dialect
}

// Open opens the session at a path for reading. Nothing is written, not even a time.
//
// Damage does not fail it: what could be read is there, and Tree().Problems says what could not. It fails with a
// *session.Problem, wrapped together with ErrNotSession, if the log has no readable header.
func (s *Store) Open(ctx context.Context, path string, opt OpenOptions) (*Session, error) {
	at, err := s.Locate(path)
	if err != nil {
		return nil, err
	}
	return s.OpenAt(ctx, at, opt)
}

// OpenAt is Open for a log of any backend.
func (s *Store) OpenAt(ctx context.Context, at place.Location, opt OpenOptions) (*Session, error) {
	l, err := s.OpenLog(ctx, at, opt.Dialect)
	if err != nil {
		return nil, err
	}
	return s.sessionOf(l, at), nil
}

// sessionOf makes a session of a log that was read.
func (s *Store) sessionOf(l *logtree.Log, at place.Location) *Session {
	return &Session{
		store: s, at: at, log: l.At, dialect: l.Dialect, tree: l.Tree, source: l.Source, blobs: s.Blobs(at.Path, l.Dialect),
	}
}
