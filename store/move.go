package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
	w, err := s.settled()
	if err != nil {
		return err
	}
	cwd = s.store.absolute(cwd)
	edit := edits{header: dialect.HeaderEdit{CWD: &cwd}}
	dir, inside := s.newHome(cwd)
	if !inside || dir == filepath.Dir(s.path) {
		return s.rewrite(ctx, edit)
	}
	path := filepath.Join(dir, filepath.Base(s.path))
	records, err := s.edited(ctx, edit)
	if err != nil {
		return named(s.path, err)
	}
	leaf := s.tree.LeafID()
	b, err := s.store.writeDir(dir, path, w.opt)
	if err != nil {
		return err
	}
	next := &Session{store: s.store, path: path, dialect: s.dialect, source: &logSource{b: b, at: backend.Log{Name: filepath.Base(path)}}}
	next.w = next.newWriting(w.d, b, filepath.Base(path), w.opt)
	next.closers = append(next.closers, next.source, b)
	next.restart(records)
	next.setBlobs()
	if w.created {
		if err := next.create(ctx); err != nil {
			return errors.Join(err, next.release())
		}
		if err := next.sync(ctx); err != nil {
			return errors.Join(err, next.release())
		}
		if err := w.b.Remove(ctx, s.log); err != nil {
			return errors.Join(fmt.Errorf("%s: copied to %s, but not removed: %w", s.path, path, err), next.release())
		}
	}
	next.stay(leaf)
	s.dir = ""
	return s.become(next)
}

// newHome is the folder for sessions of a working directory beside the one that the session lies in; ok is false where it
// lies in none of the agent's.
func (s *Session) newHome(cwd string) (dir string, ok bool) {
	abs, err := filepath.Abs(s.path)
	if err != nil || s.path == "" {
		return "", false
	}
	layout := s.dialect.Layout()
	for _, r := range layout.Roots(s.store.opt.Env) {
		if rel, err := filepath.Rel(r.Sessions, abs); err == nil && filepath.IsLocal(rel) {
			return filepath.Join(r.Sessions, filepath.FromSlash(layout.Dir(s.store.opt.Env, cwd))), true
		}
	}
	return "", false
}

// Delete removes the session's log for good and closes the session. See Store.Trash for a way back.
func (s *Session) Delete(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.settled()
	if err != nil {
		return err
	}
	if w.created {
		if err := w.b.Remove(ctx, s.log); err != nil {
			return named(s.path, err)
		}
	}
	s.closed = true
	return s.release()
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

// blobRefs finds the references in a record, wherever they stand.
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
