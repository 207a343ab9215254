package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// migrate rewrites a log of an old version as today's and keeps the original. It is called when the session is opened for
// writing. The copy is on disk before the log is replaced.
func (s *Session) migrate(ctx context.Context) error {
	h := s.tree.Header()
	if !s.needsMigration(h) {
		return nil
	}
	if err := setAside(ctx, s.at.Backend, s.log, fmt.Sprintf("v%d.bak", h.Version)); err != nil {
		return err
	}
	return s.rewrite(ctx, edits{entry: s.current})
}

// needsMigration reports whether a log with that header is of an old version.
func (s *Session) needsMigration(h session.Header) bool {
	// An edit of nothing gives the header as it would be written today.
	header, _, err := s.w.d.EditHeader(h, nil, dialect.HeaderEdit{})
	return err == nil && !bytes.Equal(header, h.Raw)
}

// current gives the record that an entry of an old version is written as, nil for an entry of today's version.
func (s *Session) current(e session.Entry) ([]byte, error) {
	if !e.Migrated {
		return nil, nil
	}
	return s.dialect.Encode(e)
}

// setAside copies a log to "<name>.<suffix>". If that name is used for other bytes, a number is added.
func setAside(ctx context.Context, b backend.Backend, at backend.Log, suffix string) error {
	all, err := backend.ReadAll(ctx, b, at)
	if err != nil {
		return err
	}
	for n := 1; n < 1000; n++ {
		name := at.Name + "." + suffix
		if n > 1 {
			name = fmt.Sprintf("%s-%d", name, n)
		}
		made, createErr := b.Create(ctx, name, all)
		if err = createErr; err == nil {
			return backend.Sync(ctx, b, made) // the original is about to be replaced
		}
		if !errors.Is(err, backend.ErrExist) {
			return err
		}
		// A crash between copy and rewrite leaves one with the same bytes: it will do.
		if old, statErr := b.Stat(ctx, name); statErr == nil && old.Size == at.Size {
			for r, readErr := range b.Read(ctx, old, 0) {
				if readErr == nil && bytes.Equal(r.Data, all) {
					return nil
				}
			}
		}
	}
	return err
}

// stamp is a time for file names.
func stamp(t time.Time) string { return t.UTC().Format("20060102T150405.000Z") }
