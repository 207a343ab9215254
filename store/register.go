package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
)

// register names the session in the agent's list of names. The log must exist: the program looks for it. The caller holds the lock.
func (s *Session) register(ctx context.Context, r dialect.Registrar, name string) error {
	base, err := s.store.registryOf(s.dialect, s.at.Path)
	if err == nil {
		err = s.endDeferral(ctx)
	}
	if err != nil {
		return err
	}
	record := r.Register(s.tree.Header().ID, name, s.w.opt.Clock())
	path := place.Join(base, r.Registry())
	at, release, err := s.store.LocateWriting(path, s.w.opt.Durability, nil)
	if err != nil {
		return s.named(err)
	}
	err = appendTo(ctx, at, record)
	if err := errors.Join(err, release()); err != nil {
		return logtree.Named(path, err)
	}
	h := s.tree.Header()
	h.Title = name
	s.w.builder.SetHeader(h)
	return nil
}

// registryOf returns the folder in which the agent keeps the names of its sessions. It fails for a session outside of the agent's folder.
func (s *Store) registryOf(d dialect.Dialect, path string) (string, error) {
	if root, ok := s.RootOf(d, path); ok && s.BaseOf(root) != "" {
		return s.BaseOf(root), nil
	}
	err := fmt.Errorf("a name for a session of %s outside of the agent's folder is %w: the program keeps its names there", d.Name(), ErrUnsupported)
	return "", logtree.Named(path, err)
}

// checkTitle refuses the title of a new session that could not be registered, before anything is written.
func (s *Store) checkTitle(d dialect.Dialect, n dialect.NewSession, path string) error {
	if _, ok := d.(dialect.Registrar); !ok || n.Title == "" {
		return nil
	}
	_, err := s.registryOf(d, path)
	return err
}

// appendTo appends a record to a file that other programs write, too. It creates a file that is missing.
func appendTo(ctx context.Context, at place.Location, record []byte) (err error) {
	for range maxRounds {
		var now backend.Log
		switch now, err = at.Backend.Stat(ctx, at.Name); {
		case err == nil:
			_, err = at.Backend.Append(ctx, now, record)
		case errors.Is(err, backend.ErrNotExist):
			_, err = at.Backend.Create(ctx, at.Name, record)
		}
		if !errors.Is(err, backend.ErrConflict) && !errors.Is(err, backend.ErrExist) {
			break
		}
	}
	return err
}
