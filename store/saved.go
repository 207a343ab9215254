package store

import (
	"bytes"
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

// NewSaved is the version of a session that must not exist yet.
const NewSaved = "new"

// ErrSaved is the error of a Save after another one.
var ErrSaved = errors.New("the session was saved by another writer")

// saved gives the paths of a session that its agent saves whole, one for each dialect that does; with a name only that of one dialect.
func (s *Store) saved(name string, id session.ID) (dialects []dialect.Dialect, paths []string, err error) {
	if name != "" {
		d, err := s.Dialect(name)
		if err != nil {
			return nil, nil, err
		}
		name = place.Sessions(d).Name()
	}
	for _, d := range s.Dialects() {
		w, ok := d.(dialect.Writer)
		if !ok || !w.Habits().SavedWhole || name != "" && d.Name() != name {
			continue
		}
		if err := w.CheckID(id); err != nil {
			return nil, nil, &IDError{err}
		}
		dialects = append(dialects, d)
		paths = append(paths, place.Join(d.Layout().Roots(s.Env())[0].Sessions, d.Layout().File(time.Time{}, id)))
	}
	if paths == nil {
		err = fmt.Errorf("states of %q are %w: the agent keeps none", name, ErrUnsupported)
	}
	return dialects, paths, err
}

// OpenSaved opens for reading a session that its agent saves whole, of any dialect or of one; ErrNoSession if there is none.
func (s *Store) OpenSaved(ctx context.Context, name string, id session.ID) (*Session, error) {
	dialects, paths, err := s.saved(name, id)
	if err != nil {
		return nil, err
	}
	for i, path := range paths {
		sess, err := s.Open(ctx, path, OpenOptions{Dialect: dialects[i]})
		if !errors.Is(err, backend.ErrNotExist) {
			return sess, err
		}
	}
	return nil, fmt.Errorf("%s: %w", id, place.ErrNoSession)
}

// Save saves the records of a session whole, in the place of a dialect ("" is the first that saves so), and opens it for
// reading. With a version, which is the Generation of a Log, it fails with ErrSaved, and saves nothing, if the session's is
// another; NewSaved is that of no session. Without one it replaces whatever is there.
func (s *Store) Save(ctx context.Context, name string, id session.ID, records [][]byte, version string) (*Session, error) {
	dialects, paths, err := s.saved(name, id)
	if err != nil {
		return nil, err
	}
	l, release, err := s.LocateWriting(paths[0], DurabilityFlush, nil)
	if err != nil {
		return nil, err
	}
	defer release()
	for {
		at, err := l.Backend.Stat(ctx, l.Name)
		switch missing := errors.Is(err, backend.ErrNotExist); {
		case missing && (version == "" || version == NewSaved):
			_, err = l.Backend.Create(ctx, l.Name, records...)
		case missing, err == nil && version != "" && version != at.Generation:
			err = ErrSaved
		case err == nil:
			_, err = l.Backend.Replace(ctx, at, records...)
		}
		if err == nil {
			return s.Open(ctx, paths[0], OpenOptions{Dialect: dialects[0]})
		}
		if !errors.Is(err, backend.ErrConflict) && !errors.Is(err, backend.ErrExist) {
			return nil, logtree.Named(paths[0], err)
		}
	}
}

// Resume gives the messages that the agent would begin with in a project folder and working directory.
func (s *Session) Resume(ctx context.Context, root, workDir string) (list []session.Raw, err error) {
	c, err := s.Context(ctx, s.Leaf(), ContextOptions{Here: &dialect.Here{Root: root, WorkDir: workDir}})
	if err != nil {
		return nil, err
	}
	for m, err := range c.Messages() {
		if err != nil {
			return nil, err
		}
		list = append(list, bytes.Clone(m.JSON))
	}
	return list, nil
}
