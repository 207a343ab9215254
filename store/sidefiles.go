package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/place"
)

// carryFiles copies the files of the session's folder that records name to the folder of the copy at path. Logs of
// sub-agents stay: they belong to the session that began them. A file that is missing here is missing there too, and is
// reported when it is read.
func (s *Session) carryFiles(ctx context.Context, path string, records [][]byte) (err error) {
	d, cuts := s.dialect.(dialect.Overflower)
	from := place.SideFolder(s.dialect, s.at)
	if !cuts || from.Prefix == "" {
		return nil
	}
	var to place.SideFiles
	shelf := s.shelf()
	for _, r := range records {
		if !d.IsCut(r) {
			continue
		}
		if to.Prefix == "" {
			l, release, err := s.store.LocateWriting(path, s.w.opt.Durability, nil)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, release()) }()
			to = place.SideFolder(s.dialect, l)
		}
		d.Whole(r, func(name string) ([]byte, error) {
			content, readErr := shelf.Beside(ctx, name)
			if readErr != nil || err != nil {
				return nil, errors.Join(readErr, err)
			}
			if _, err = backend.Restore(ctx, to.Backend, to.Prefix+name, content); errors.Is(err, backend.ErrExist) {
				err = nil // two records name it
			}
			return content, err
		})
	}
	return err
}

// movedFiles are the files of a session's folder while the session is moved: they are at both places.
type movedFiles struct {
	old  place.Location // the log
	from place.SideFiles
	made place.SideFiles
}

// moveFiles copies the files of the session's folder to where the log is about to be moved.
func (s *Session) moveFiles(ctx context.Context, dir string) (m movedFiles, err error) {
	if !s.w.created {
		return m, nil
	}
	m.old = s.at
	if m.from, err = place.FindSideFiles(ctx, s.dialect, s.at); err != nil || len(m.from.Logs) == 0 {
		return m, err
	}
	l, release, err := s.store.LocateWriting(place.Join(dir, place.Base(s.at.Path)), backend.DurabilityAlways, nil)
	if err != nil {
		return m, err
	}
	to := place.SideFolder(s.dialect, l)
	if m.made, err = m.from.CopyTo(ctx, to.Backend, to.Prefix, to.Dir); err != nil {
		err = errors.Join(err, m.made.Remove(context.WithoutCancel(ctx)))
	}
	return m, errors.Join(err, release())
}

// settle ends a move: the files stay where the log is.
func (m movedFiles) settle(ctx context.Context) error {
	if len(m.from.Logs) == 0 {
		return nil
	}
	if _, err := m.old.Backend.Stat(ctx, m.old.Name); err == nil {
		return m.made.Remove(ctx) // the log did not move
	}
	if err := m.from.Remove(ctx); err != nil {
		return fmt.Errorf("the session was moved with the files of its folder, but some of them are still at the old place: %w", err)
	}
	return nil
}

// carry copies what records refer to outside of the log to where a copy of the session in dir looks for it. dir is "" for a
// copy in memory.
func (s *Session) carry(ctx context.Context, n dialect.NewSession, dir string, records [][]byte) error {
	if err := s.carryBlobs(ctx, dir, records); err != nil || dir == "" {
		return err
	}
	return s.carryFiles(ctx, place.Join(dir, s.store.FileName(s.dialect, n)), records)
}
