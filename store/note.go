package store

import (
	"context"
	"errors"

	"github.com/treeline-dev/treeline/backend"
)

// note remembers the session's folder. A failure does not fail the write; a blob, which needs the note, is then refused.
func (s *Session) note(ctx context.Context) { s.noted(s.noteAgain(ctx)) }

func (s *Session) noted(err error) {
	if err != nil {
		s.w.opt.Log.Warn("folder not noted", "file", s.at.Path, "error", err)
	}
}

// noteAgain notes the folder if no note of the session is left.
func (s *Session) noteAgain(ctx context.Context) error { return s.store.NoteFolder(ctx, s.at.Path) }

// noteNew is NoteFolder before the log is created. It adds one note, unless the folder is forgotten meanwhile.
func (s *Session) noteNew(ctx context.Context) error {
	if s.w.note != nil {
		return s.noteAgain(ctx)
	}
	n, err := s.store.NoteNew(ctx, s.at.Path)
	if err == nil {
		s.w.note = &n
	}
	return err
}

// takeBack removes the note of a session whose creation failed with err, or was never tried if err is nil. Otherwise garbage collection
// would wait for the session forever. The note stays if the log may exist.
func (s *Session) takeBack(ctx context.Context, err error) {
	if s.w.note == nil || s.w.created {
		return
	}
	ctx = context.WithoutCancel(ctx)
	if !errors.Is(err, backend.ErrName) { // no log can have such a name
		if _, err := s.at.Backend.Stat(ctx, s.at.Name); !errors.Is(err, backend.ErrNotExist) {
			return
		}
	}
	note := *s.w.note
	s.w.note = nil
	s.noted(note.TakeBack(ctx))
}
