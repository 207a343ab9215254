package store

import (
	"context"
	"errors"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/place"
)

// carryFiles copies the files of the session's folder that records name to the folder of the copy at path. Logs of
// sub-agents stay: they belong to the session that began them. A file that is missing here is missing there too, and is
// reported when it is read.
func (s *Session) carryFiles(ctx context.Context, path string, records [][]byte) (err error) {
	d, cuts := s.dialect.(dialect.Overflower)
	if !cuts || place.SideFolder(s.dialect, s.at).Prefix == "" {
		return nil
	}
	l, release, err := s.store.LocateWriting(path, s.w.opt.Durability, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	to, shelf := place.SideFolder(s.dialect, l), s.shelf()
	for _, r := range records {
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

// carry copies what records refer to outside of the log to where a copy of the session in dir looks for it. dir is "" for a
// copy in memory.
func (s *Session) carry(ctx context.Context, n dialect.NewSession, dir string, records [][]byte) error {
	if err := s.carryBlobs(ctx, dir, records); err != nil || dir == "" {
		return err
	}
	return s.carryFiles(ctx, place.Join(dir, s.store.FileName(s.dialect, n)), records)
}
