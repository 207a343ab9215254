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

// register names the session in the agent's list of names. The log is not changed, but it must exist: the program looks for
// it. The caller holds the lock.
func (s *Session) register(ctx context.Context, r dialect.Registrar, name string) error {
	w := s.w
	root, ok := s.store.RootOf(s.dialect, s.at.Path)
	if !ok || s.store.BaseOf(root) == "" {
		return s.named(fmt.Errorf("a name for a session of %s outside of the agent's folder is %w: the program keeps its names there",
			s.dialect.Name(), ErrUnsupported))
	}
	if err := s.endDeferral(ctx); err != nil {
		return err
	}
	record := r.Register(s.tree.Header().ID, name, w.opt.Clock())
	path := place.Join(s.store.BaseOf(root), r.Registry())
	at, release, err := s.store.LocateWriting(path, w.opt.Durability, nil)
	if err != nil {
		return s.named(err)
	}
	err = appendTo(ctx, at, record)
	if err := errors.Join(err, release()); err != nil {
		return logtree.Named(path, err)
	}
	h := s.tree.Header()
	h.Title = name
	w.builder.SetHeader(h)
	return nil
}

// appendTo appends a record to a file of records that other programs write, too, and creates it where it is missing.
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

// recaption writes the name to the file of the session's folder that the agent shows it from, if there is one. The log has the
// name already. The caller holds the lock.
func (s *Session) recaption(ctx context.Context, name string) error {
	r, ok := s.dialect.(dialect.Recaptioner)
	if !ok {
		return nil
	}
	content, err := place.ReadSideFile(ctx, s.dialect, s.at, r.CaptionFile())
	if errors.Is(err, backend.ErrNotExist) || errors.Is(err, place.ErrLink) {
		return nil
	}
	changed := []byte(nil)
	if err == nil {
		changed = r.SetCaption(content, name)
	}
	if changed != nil {
		var at backend.Log
		if at, err = s.at.Backend.Stat(ctx, place.SideFolder(s.dialect, s.at).Prefix+r.CaptionFile()); err == nil {
			_, err = s.at.Backend.Replace(ctx, at, changed)
		}
	}
	if err != nil {
		return s.named(fmt.Errorf("the name is in the log, but %s, from which %s shows it, was not changed: %w", r.CaptionFile(), s.dialect.Name(), err))
	}
	return nil
}
