// Package state opens and saves sessions that their agent saves as a whole, such as the states of codelia.
package state

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
	"github.com/treeline-dev/treeline/store"
)

// New is the version to pass to Save for a session that must not exist yet.
const New = "new"

// ErrConflict is the error of a Save whose version is outdated: another Save came first.
var ErrConflict = errors.New("the session was saved by another writer")

// candidates returns the paths at which a session may be: one for each dialect whose agent saves sessions whole. With a name it returns that
// dialect's path only.
func candidates(s *store.Store, name string, id session.ID) (dialects []dialect.Dialect, paths []string, err error) {
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
			return nil, nil, &store.IDError{Err: err}
		}
		dialects = append(dialects, d)
		paths = append(paths, place.Join(d.Layout().Roots(s.Env())[0].Sessions, d.Layout().File(time.Time{}, id)))
	}
	if paths == nil {
		err = fmt.Errorf("states of %q are %w: the agent keeps none", name, store.ErrUnsupported)
	}
	return dialects, paths, err
}

// Open opens a session that its agent saves whole, for reading. name is a dialect, or "" for any. It fails with place.ErrNoSession if there
// is none.
func Open(ctx context.Context, s *store.Store, name string, id session.ID) (*store.Session, error) {
	dialects, paths, err := candidates(s, name, id)
	if err != nil {
		return nil, err
	}
	for i, path := range paths {
		sess, err := s.Open(ctx, path, store.OpenOptions{Dialect: dialects[i]})
		if !errors.Is(err, backend.ErrNotExist) {
			return sess, err
		}
	}
	return nil, fmt.Errorf("%s: %w", id, place.ErrNoSession)
}

// Save replaces a session as a whole by these records, at the path of the named dialect ("" is the first dialect that saves sessions
// whole), and opens it for reading. version is the Generation of the log that the caller knows: if the session has another one by now, Save
// fails with ErrConflict and writes nothing. New demands that there is no session yet; "" replaces whatever is there.
func Save(ctx context.Context, s *store.Store, name string, id session.ID, records [][]byte, version string) (*store.Session, error) {
	dialects, paths, err := candidates(s, name, id)
	if err != nil {
		return nil, err
	}
	l, release, err := s.LocateWriting(paths[0], store.DurabilityFlush, nil)
	if err != nil {
		return nil, err
	}
	defer release()
	for {
		at, err := l.Backend.Stat(ctx, l.Name)
		switch missing := errors.Is(err, backend.ErrNotExist); {
		case missing && (version == "" || version == New):
			_, err = l.Backend.Create(ctx, l.Name, records...)
		case missing, err == nil && version != "" && version != at.Generation:
			err = ErrConflict
		case err == nil:
			_, err = l.Backend.Replace(ctx, at, records...)
		}
		if err == nil {
			return s.Open(ctx, paths[0], store.OpenOptions{Dialect: dialects[0]})
		}
		if !errors.Is(err, backend.ErrConflict) && !errors.Is(err, backend.ErrExist) {
			return nil, logtree.Named(paths[0], err)
		}
	}
}
