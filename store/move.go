package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/place"
)

// Move moves the session to another working directory. If it lies in the agent's own folders, its log moves to the folder
// for that directory; otherwise it stays where it is. The log is written at its new place before it is removed from the
// old one, so a crash leaves it at both rather than at none. The files of its folder (see dialect.Foldered) move with it.
// A directory that does not exist is refused with a *RefusedError, unless WriteOptions.Force is set.
func (s *Session) Move(ctx context.Context, cwd string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.settled(); err != nil {
		return err
	}
	if err := s.store.checkCWD(cwd, s.w.opt); err != nil {
		return err
	}
	cwd = s.store.WorkDir(s.w.d.Dialect, cwd)
	edit := edits{header: dialect.HeaderEdit{CWD: &cwd}}
	dir, elsewhere := s.store.HomeBeside(s.dialect, s.at.Path, cwd)
	if !elsewhere {
		return s.rewrite(ctx, edit)
	}
	files, err := s.store.MoveSideFiles(ctx, s.dialect, s.at, place.Join(dir, place.Base(s.at.Path)), s.tree.Header().CWD, cwd)
	if err != nil {
		return s.named(err)
	}
	return errors.Join(s.moveLog(ctx, dir, edit), files.Settle(context.WithoutCancel(ctx)))
}

// moveLog moves the log alone.
func (s *Session) moveLog(ctx context.Context, dir string, edit edits) error {
	// Each round writes the copy again; the last one has everything that other processes wrote.
	for round := range maxRounds {
		next, late, err := s.moveTo(ctx, dir, edit, round)
		if err == nil {
			// Later sessions go to the new folder as well.
			s.dir = ""
			return cmp.Or(s.become(next), s.adopt(context.WithoutCancel(ctx), late))
		}
		if !errors.Is(err, backend.ErrConflict) && !errors.Is(err, backend.ErrChanged) {
			return s.named(err)
		}
		// Another process wrote meanwhile: its entries move too.
		if err := s.catchUpOrRefuse(ctx); err != nil {
			return err
		}
	}
	return s.named(fmt.Errorf("%w again and again", backend.ErrConflict))
}

// adopt appends what other programs wrote to the old log while it was moved.
func (s *Session) adopt(ctx context.Context, late backend.Late) error {
	s.tellLate(late)
	for try := 0; late.Kept+len(late.Records) > 0; try++ { // after Kept the first append conflicts, and the records are read
		_, err := s.at.Backend.Append(ctx, s.log, late.Records...)
		if err != nil && (!errors.Is(err, backend.ErrConflict) || try == maxRounds) {
			return s.latch(fmt.Errorf("%d records that another program wrote during the move could not be kept: %w", len(late.Records), err))
		}
		if _, catchErr := s.catchUp(ctx); catchErr != nil {
			return s.latch(catchErr)
		}
		if err == nil {
			break
		}
	}
	return nil
}

// moveTo writes the session in another folder and removes it from its own. late is what other programs wrote after the copy was made.
func (s *Session) moveTo(ctx context.Context, dir string, edit edits, round int) (next *Session, late backend.Late, err error) {
	w := s.w
	records, err := s.edited(ctx, edit)
	if err != nil {
		return nil, late, err
	}
	h, err := s.store.homeAt(place.Join(dir, place.Base(s.at.Path)), w.opt)
	if err != nil {
		return nil, late, err
	}
	next = s.store.waiting(h, w.d, s.tree.Header(), records, w.opt)
	next.inherit(w.held)
	next.stay(s.tree.LeafID())
	// Deferred entries go on waiting, for another place.
	if !w.created {
		return next, late, nil
	}
	s.source.Hold(ctx)
	if err := s.carryBlobs(ctx, next, records); err != nil {
		return nil, late, cmp.Or(err, next.letGo())
	}
	// The copy must survive a crash before the original is removed.
	if err = next.create(ctx); err != nil {
		return nil, late, cmp.Or(err, next.letGo())
	}
	beside, made := w.beside(round), next.log
	if err = backend.Sync(ctx, h.Backend, made); err == nil {
		beside.Keep = func(records [][]byte) error {
			now, err := h.Backend.Append(ctx, made, records...)
			if err != nil {
				return err
			}
			made = now
			return backend.Sync(ctx, h.Backend, made)
		}
		late, err = backend.Remove(ctx, s.at.Backend, s.log, beside)
	}
	if err == nil {
		return next, late, nil
	}
	// The copy is removed; after a conflict the caller makes another. If the old log is gone in spite of the error, the copy is the only
	// one left and stays.
	_, gone := s.at.Backend.Stat(context.WithoutCancel(ctx), s.log.Name)
	if errors.Is(err, backend.ErrConflict) || !errors.Is(gone, backend.ErrNotExist) {
		err = errors.Join(err, h.Backend.Remove(context.WithoutCancel(ctx), made))
	}
	return nil, late, cmp.Or(err, next.letGo())
}

// Delete removes the session's log and the files of its folder for good and closes the session. If another process wrote entries first, it fails with
// ErrForeign; a second call then deletes those too. Package trash offers a way back.
func (s *Session) Delete(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.settled()
	if err != nil {
		return err
	}
	files, err := place.FindSideFiles(ctx, s.dialect, s.at)
	if err != nil {
		return s.named(err)
	}
	for try := 0; w.created; try++ {
		late, err := backend.Remove(ctx, s.at.Backend, s.log, w.beside(0))
		if err == nil {
			s.tellLate(late)
			break
		}
		if !errors.Is(err, backend.ErrConflict) || try == maxRounds {
			return s.named(err)
		}
		fresh, err := s.catchUp(ctx)
		if err != nil {
			return s.named(err)
		}
		if fresh > 0 {
			// The caller did not know of these entries.
			return s.refused(fresh)
		}
	}
	removed := w.created
	s.closed, w.created = true, false // it takes its note back
	err = s.letGo()
	if removed {
		err = errors.Join(err, files.Remove(context.WithoutCancel(ctx)))
		s.store.DropFolder(s.dialect, s.at.Path)
	}
	return err
}

// carryBlobs copies the blobs that records name to where such references are looked up from a copy, whose log is not created yet. A blob
// that is missing here is missing there too, and is reported when it is read.
func (s *Session) carryBlobs(ctx context.Context, to *Session, records [][]byte) error {
	if s.blobs == nil {
		return nil
	}
	target, dir := s.store.BlobsAs(s.w.opt.Writer, to.at.Path, s.dialect), s.store.BlobDir(to.at.Path, s.dialect)
	same := dir == s.store.BlobDir(s.at.Path, s.dialect)
	if target == nil || same && backend.Scheme(dir) == "" {
		return nil
	}
	// Before the blobs: a collection that runs now must look there.
	if err := to.noteNew(ctx); err != nil {
		return err
	}
	var refs []blob.Ref
	for _, r := range records {
		refs = slices.AppendSeq(refs, blob.RefsIn(r))
	}
	// The archive that has the session has its blobs, too. A limited writer must still put them for the copy; see backend.Writer.
	if same && len(refs) > 0 {
		var err error
		if refs, err = blob.Missing(ctx, target, refs); err != nil {
			return err
		}
	}
	done := map[blob.Ref]bool{}
	for _, ref := range refs {
		if done[ref] {
			continue
		}
		done[ref] = true
		b, err := blob.Get(ctx, s.blobs, ref)
		if err != nil {
			continue
		}
		if _, err := target.Put(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// carryFiles copies the files of the session's folder that records name to the folder of a copy. Logs of
// sub-agents stay: they belong to the session that began them. A file that is missing here is missing there too, and is
// reported when it is read. made are the copied files.
func (s *Session) carryFiles(ctx context.Context, copied *Session, records [][]byte) (made place.SideFiles, err error) {
	d, cuts := s.dialect.(dialect.Overflower)
	if !cuts || place.SideFolder(s.dialect, s.at).Folder == "" {
		return made, nil
	}
	made = place.SideFolder(s.dialect, copied.at)
	shelf := s.shelf()
	for _, r := range records {
		d.Whole(r, func(name string) ([]byte, error) {
			content, readErr := shelf.Beside(ctx, name)
			if readErr != nil || err != nil {
				return nil, errors.Join(readErr, err)
			}
			var at backend.Log
			if at, err = backend.Restore(ctx, made.Backend, made.Prefix+name, content); err == nil {
				made.Logs = append(made.Logs, at)
			} else if errors.Is(err, backend.ErrExist) {
				err = nil // two records name the same file
			}
			return content, err
		})
	}
	return made, err
}

// carry copies what records refer to outside of the log to where a copy of the session looks for it. A copy in memory has no such place.
// made are the files that it wrote; unused blobs are left to garbage collection.
func (s *Session) carry(ctx context.Context, to *Session, records [][]byte) (made place.SideFiles, err error) {
	if to.at.Path == "" {
		return made, nil
	}
	if err := s.carryBlobs(ctx, to, records); err != nil {
		return made, err
	}
	return s.carryFiles(ctx, to, records)
}
