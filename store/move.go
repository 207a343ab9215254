package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/dialect"
)

// Move makes the session one of another working directory. Where it lies in the agent's own folders, its log moves to the
// folder for that directory; one that lies elsewhere stays there. It is written at its new place before it goes from the
// old one, so a crash leaves it at both rather than at none.
func (s *Session) Move(ctx context.Context, cwd string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.settled(); err != nil {
		return err
	}
	cwd = s.store.absolute(cwd)
	edit := edits{header: dialect.HeaderEdit{CWD: &cwd}}
	dir, elsewhere := s.newHome(cwd)
	if !elsewhere {
		return s.rewrite(ctx, edit)
	}
	// Each round writes the copy anew; the last one has all that others wrote.
	for range patience {
		next, err := s.moveTo(ctx, dir, edit)
		if err == nil {
			// It is at home in its new folder, and what it turns into goes there as well.
			s.dir = ""
			return s.become(next)
		}
		if !errors.Is(err, backend.ErrConflict) && !errors.Is(err, backend.ErrChanged) {
			return named(s.path, err)
		}
		// Others wrote meanwhile: what they wrote moves too.
		if err := s.catchUpOrRefuse(ctx); err != nil {
			return err
		}
	}
	return named(s.path, fmt.Errorf("%w again and again", backend.ErrConflict))
}

// moveTo writes the session in another folder and removes it from its own.
func (s *Session) moveTo(ctx context.Context, dir string, edit edits) (*Session, error) {
	w := s.w
	records, err := s.edited(ctx, edit)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, filepath.Base(s.path))
	b, err := s.store.writeDir(dir, path, w.opt)
	if err != nil {
		return nil, err
	}
	// Name and id stay, so that whoever names it by its id finds it.
	next := s.store.waitingSession(b, filepath.Base(path), path, w.d, s.tree.Header(), records, w.opt)
	next.stay(s.tree.LeafID())
	// There is nothing to be removed: what waits goes on waiting, for another place.
	if !w.created {
		return next, nil
	}
	s.source.hold(ctx)
	// Nobody may find the copy gone after a crash when the original is.
	err = next.create(ctx)
	if err == nil {
		err = syncLog(ctx, b, next.log)
	}
	if err == nil {
		// Somebody wrote to the old one meanwhile: the copy goes again, and the caller makes another.
		if err = w.b.Remove(ctx, s.log); err != nil {
			err = first(b.Remove(context.WithoutCancel(ctx), next.log), err)
		}
	}
	if err != nil {
		return nil, first(err, next.release())
	}
	return next, nil
}

// newHome is the folder for sessions of a working directory, in the agent's folder that the session lies in; ok is false
// where it lies in none, or in that one already.
func (s *Session) newHome(cwd string) (dir string, ok bool) {
	abs, err := filepath.Abs(s.path)
	if err != nil || s.path == "" {
		return "", false
	}
	layout := s.dialect.Layout()
	for _, r := range layout.Roots(s.store.opt.Env) {
		if rel, err := filepath.Rel(r.Sessions, abs); err == nil && filepath.IsLocal(rel) {
			dir := s.store.dirFor(s.dialect, r, cwd)
			return dir, s.store.canonical(dir) != s.store.canonical(filepath.Dir(abs))
		}
	}
	return "", false
}

// Delete removes the session's log for good and closes the session. Where others wrote entries since we last looked it
// fails with ErrForeign; a second call then deletes those, too. See Store.Trash for a way back.
func (s *Session) Delete(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.settled()
	if err != nil {
		return err
	}
	for try := 0; w.created; try++ {
		err := w.b.Remove(ctx, s.log)
		if err == nil {
			break
		}
		if !errors.Is(err, backend.ErrConflict) || try == patience {
			return named(s.path, err)
		}
		// Perhaps only the time or the place of the file changed.
		fresh, err := s.catchUp(ctx)
		if err != nil {
			return named(s.path, err)
		}
		if fresh > 0 {
			// Who deletes did not know of these.
			return s.refused(fresh)
		}
	}
	// Before anything else can fail: the log is gone, and the session with it.
	s.closed = true
	err = s.release()
	if w.created {
		s.store.dropFolder(s.dialect, s.path)
	}
	return err
}

// dropFolder removes the folder of a log that was removed, if the agent does so, it is one of the agent's, and nothing is
// left in it.
func (s *Store) dropFolder(d dialect.Dialect, path string) {
	w, ok := d.(dialect.Writer)
	abs, err := filepath.Abs(path)
	if !ok || !w.Habits().DropsEmptyFolders || err != nil || path == "" {
		return
	}
	dir := filepath.Dir(abs)
	for _, r := range d.Layout().Roots(s.opt.Env) {
		// Never the agent's folder of sessions itself, nor one that somebody chose.
		if dir != filepath.Clean(r.Sessions) && within(r.Sessions, dir) {
			_ = os.Remove(dir) // it fails where anything is left, and then the folder stays
		}
	}
}

// carryBlobs copies the blobs that records name into the folder that such references mean where the records are going,
// before the records are there. One that is missing here will be missing there, and is reported when it is looked at.
func (s *Session) carryBlobs(ctx context.Context, dir string, records [][]byte) error {
	if dir == "" || s.blobs == nil || s.store.opt.WriteBlobs == nil {
		return nil
	}
	abs, err := filepath.Abs(s.path)
	if err != nil {
		return err
	}
	from := s.store.blobDir(abs, s.dialect)
	to := s.store.blobDir(filepath.Join(dir, "x.jsonl"), s.dialect)
	if from == to || to == "" {
		return nil
	}
	// Before the blobs: a collection that runs at this moment must look there.
	if err := s.store.noteFolder(ctx, filepath.Join(dir, "x.jsonl")); err != nil {
		return err
	}
	target := s.store.opt.WriteBlobs(to)
	for _, r := range records {
		for ref := range blobRefs(r) {
			b, err := blob.Get(ctx, s.blobs, ref)
			if err != nil {
				continue
			}
			if _, err := target.Put(ctx, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// blobRefs finds the references in a record, wherever they stand. The bytes are searched, as a collection does: what may be
// a reference is carried along.
func blobRefs(record []byte) func(yield func(blob.Ref) bool) {
	return func(yield func(blob.Ref) bool) {
		const length = len(blob.Prefix) + 64
		for {
			i := bytes.Index(record, []byte(blob.Prefix))
			if i < 0 || i+length > len(record) {
				return
			}
			if ref, err := blob.ParseRef(string(record[i : i+length])); err == nil && !yield(ref) {
				return
			}
			record = record[i+len(blob.Prefix):]
		}
	}
}
