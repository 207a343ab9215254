package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

// Saved is a session of an agent that saves sessions whole: its log at one moment.
type Saved struct {
	Dialect dialect.Dialect
	// Header is the first record, Messages are the others.
	Header   session.Raw
	Messages []session.Raw
	// Version is the compare-and-swap token; see Save.
	Version string
}

// NewSaved is the Version of a session that must not exist yet.
const NewSaved = "new"

// ErrSaved is the error of a Save after another one.
var ErrSaved = errors.New("the session was saved by another writer")

// Resume gives the messages that the agent would begin with in a project folder and working directory.
func (s Saved) Resume(root, workDir string) []session.Raw {
	if r, ok := s.Dialect.(dialect.Resumer); ok {
		return r.Resume(s.Header, s.Messages, dialect.Here{Root: root, WorkDir: workDir})
	}
	return s.Messages
}

// savers gives the dialects that save sessions whole; with a name only that one.
func (s *Store) savers(name string) (list []dialect.WritingDialect, err error) {
	if name != "" {
		d, err := s.Dialect(name)
		if err != nil {
			return nil, err
		}
		name = place.Sessions(d).Name()
	}
	for _, d := range s.Dialects() {
		w, ok := dialect.AsWriter(d)
		if ok && w.Habits().SavedWhole && (name == "" || d.Name() == name) {
			list = append(list, w)
		}
	}
	if list == nil {
		err = fmt.Errorf("states of %q are %w: the agent keeps none", name, ErrUnsupported)
	}
	return list, err
}

// LoadSaved finds a session that is saved whole, of any dialect or of one; ErrNoSession if there is none.
func (s *Store) LoadSaved(ctx context.Context, name string, id session.ID) (Saved, error) {
	list, err := s.savers(name)
	if err != nil {
		return Saved{}, err
	}
	for _, d := range list {
		if err := d.CheckID(id); err != nil {
			return Saved{}, &IDError{err}
		}
		dir := d.Dialect.Layout().Roots(s.Env())[0].Sessions
		b, err := s.Machine.Open(dir)
		if err != nil {
			return Saved{}, err
		}
		saved, err := readSaved(ctx, b, d.Dialect, id)
		if err == nil || !errors.Is(err, backend.ErrNotExist) {
			return saved, logtree.Named(dir, err)
		}
	}
	return Saved{}, fmt.Errorf("%s: %w", id, place.ErrNoSession)
}

func savedName(d dialect.Dialect, id session.ID) string { return d.Layout().File(time.Time{}, id) }

// readSaved reads a log, again if it changes meanwhile.
func readSaved(ctx context.Context, b backend.Backend, d dialect.Dialect, id session.ID) (saved Saved, err error) {
	for range logtree.Retries {
		var at backend.Log
		if at, err = b.Stat(ctx, savedName(d, id)); err != nil {
			return saved, err
		}
		var records []session.Raw
		for r, readErr := range b.Read(ctx, at, 0) {
			if err = readErr; err == nil {
				records = append(records, append(session.Raw(nil), r.Data...))
			}
		}
		if err == nil {
			return Saved{Dialect: d, Header: records[0], Messages: records[1:], Version: at.Generation}, nil
		}
		if !errors.Is(err, backend.ErrChanged) {
			break
		}
	}
	return saved, err
}

// Save saves a session whole, in the place of a dialect ("" is the first that saves so), and gives it as it then is. With a
// version it fails with ErrSaved, and saves nothing, if the session's is another; NewSaved is that of no session. Without
// one it replaces whatever is there.
func (s *Store) Save(ctx context.Context, name string, id session.ID, records [][]byte, version string) (Saved, error) {
	list, err := s.savers(name)
	if err != nil {
		return Saved{}, err
	}
	d := list[0]
	if err := d.CheckID(id); err != nil {
		return Saved{}, &IDError{err}
	}
	dir := d.Dialect.Layout().Roots(s.Env())[0].Sessions
	b, err := s.OpenWriting(dir, DurabilityFlush)
	if err != nil {
		return Saved{}, err
	}
	for {
		at, err := b.Stat(ctx, savedName(d.Dialect, id))
		switch {
		case errors.Is(err, backend.ErrNotExist) && (version == "" || version == NewSaved):
			_, err = b.Create(ctx, savedName(d.Dialect, id), records...)
		case errors.Is(err, backend.ErrNotExist), err == nil && version != "" && version != at.Generation:
			err = ErrSaved
		case err == nil:
			_, err = b.Replace(ctx, at, records...)
		}
		switch {
		case err == nil:
			return readSaved(ctx, b, d.Dialect, id)
		case !errors.Is(err, backend.ErrConflict) && !errors.Is(err, backend.ErrExist):
			return Saved{}, logtree.Named(dir, err)
		}
	}
}
