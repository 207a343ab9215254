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
func (s *Store) savers(name string) (list []dialect.Writer, err error) {
	if name != "" {
		d, err := s.Dialect(name)
		if err != nil {
			return nil, err
		}
		name = Sessions(d).Name()
	}
	for _, d := range s.opt.Dialects {
		w, ok := d.(dialect.Writer)
		if ok && w.Habits().SavedWhole && (name == "" || d.Name() == name) {
			list = append(list, w)
		}
	}
	if list == nil {
		err = fmt.Errorf("states of %q are %w: the agent keeps none", name, ErrUnsupported)
	}
	return list, err
}

// saved opens the place of a dialect's sessions, and gives the name of one.
func (s *Store) saved(d dialect.Writer, id session.ID, open func(dir string) (backend.Backend, error)) (b backend.Backend, name string, err error) {
	if err := d.CheckID(id); err != nil {
		return nil, "", &IDError{err}
	}
	b, err = open(d.Layout().Roots(s.opt.Env)[0].Sessions)
	return b, d.Layout().File(time.Time{}, id), err
}

// LoadSaved finds a session that is saved whole, of any dialect or of one; ErrNoSession if there is none.
func (s *Store) LoadSaved(ctx context.Context, name string, id session.ID) (Saved, error) {
	list, err := s.savers(name)
	if err != nil {
		return Saved{}, err
	}
	for _, d := range list {
		b, log, err := s.saved(d, id, s.opt.OpenDir)
		if err != nil {
			return Saved{}, err
		}
		saved, err := readSaved(ctx, b, d, log)
		b.Close()
		if !errors.Is(err, backend.ErrNotExist) {
			return saved, named(log, err)
		}
	}
	return Saved{}, fmt.Errorf("%s: %w", id, ErrNoSession)
}

// readSaved reads a log, again if it changes meanwhile.
func readSaved(ctx context.Context, b backend.Backend, d dialect.Dialect, name string) (saved Saved, err error) {
	for try := 0; try == 0 || errors.Is(err, backend.ErrChanged) && try < rewritten; try++ {
		var at backend.Log
		if at, err = b.Stat(ctx, name); err != nil {
			return saved, err
		}
		var records []session.Raw
		for r, readErr := range b.Read(ctx, at, 0) {
			records, err = append(records, bytes.Clone(r.Data)), readErr
		}
		saved = Saved{Dialect: d, Header: records[0], Messages: records[1:], Version: at.Generation}
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
	b, log, err := s.saved(list[0], id, func(dir string) (backend.Backend, error) { return s.writeDir(dir, dir, WriteOptions{}) })
	if err != nil {
		return Saved{}, err
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
			return readSaved(ctx, b, list[0], log)
		}
		if !errors.Is(err, backend.ErrConflict) && !errors.Is(err, backend.ErrExist) {
			return Saved{}, named(log, err)
		}
	}
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
