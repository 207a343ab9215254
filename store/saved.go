package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// NewSaved is the version of a session that must not exist yet.
const NewSaved = "new"

// ErrSaved is the error of a Save after another one.
var ErrSaved = errors.New("the session was saved by another writer")

// saved gives the paths of a session that its agent saves whole, one for each dialect that does; with a name only that of
// one dialect.
func (s *Store) saved(name string, id session.ID) (dialects []dialect.Dialect, paths []string, err error) {
	if name != "" {
		d, err := s.Dialect(name)
		if err != nil {
			return nil, nil, err
		}
		name = Sessions(d).Name()
	}
	for _, d := range s.opt.Dialects {
		w, ok := d.(dialect.Writer)
		if !ok || !w.Habits().SavedWhole || name != "" && d.Name() != name {
			continue
		}
		if err := w.CheckID(id); err != nil {
			return nil, nil, &IDError{err}
		}
		dialects = append(dialects, d)
		paths = append(paths, filepath.Join(d.Layout().Roots(s.opt.Env)[0].Sessions, d.Layout().File(time.Time{}, id)))
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
	return nil, fmt.Errorf("%s: %w", id, ErrNoSession)
}

// Save saves the records of a session whole, in the place of a dialect ("" is the first that saves so), and opens it for
// reading. With a version, which is the Generation of a Log, it fails with ErrSaved, and saves nothing, if the session's is
// another; NewSaved is that of no session. Without one it replaces whatever is there.
func (s *Store) Save(ctx context.Context, name string, id session.ID, records [][]byte, version string) (*Session, error) {
	dialects, paths, err := s.saved(name, id)
	if err != nil {
		return nil, err
	}
	dir, log := filepath.Split(paths[0])
	b, err := s.writeDir(dir, paths[0], WriteOptions{})
	if err != nil {
		return nil, err
	}
	defer b.Close()
	for {
		at, err := b.Stat(ctx, log)
		switch missing := errors.Is(err, backend.ErrNotExist); {
		case missing && (version == "" || version == NewSaved):
			_, err = b.Create(ctx, log, records...)
		case missing, err == nil && version != "" && version != at.Generation:
			err = ErrSaved
		case err == nil:
			_, err = b.Replace(ctx, at, records...)
		}
		if err == nil {
			return s.Open(ctx, paths[0], OpenOptions{Dialect: dialects[0]})
		}
		if !errors.Is(err, backend.ErrConflict) && !errors.Is(err, backend.ErrExist) {
			return nil, named(paths[0], err)
		}
	}
}

// Resume gives the messages that the agent would begin with in a project folder and working directory.
func (s *Session) Resume(ctx context.Context, root, workDir string) (list []session.Raw, err error) {
	c, err := s.Context(ctx, s.Tree().LeafID(), ContextOptions{})
	if err != nil {
		return nil, err
	}
	for m, err := range c.Messages() {
		if err != nil {
			return nil, err
		}
		list = append(list, bytes.Clone(m.JSON))
	}
	if r, ok := s.dialect.(dialect.Resumer); ok {
		list = r.Resume(s.Tree().Header().Raw, list, dialect.Here{Root: root, WorkDir: workDir})
	}
	return list, nil
}

// resumeHere gives what the agent says first if the session resumes here.
func (s *Session) resumeHere(now dialect.Here) []session.Raw {
	r, ok := s.dialect.(dialect.Resumer)
	if !ok || s.path == "" {
		return nil
	}
	if now.Root == "" {
		now.Root = now.WorkDir
		if root := s.tree.Header().CWD; root != "" && within(root, now.WorkDir) {
			now.Root = root
		}
	}
	return r.Resume(s.tree.Header().Raw, nil, now)
}
