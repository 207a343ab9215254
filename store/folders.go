package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
)

// The state folder is our own. It holds what must be remembered and no log says:
//
//	folders.jsonl   the folders outside of the agents' own in which sessions were written, one record each; appended to
//	trash/          the sessions that were removed
const foldersLog = "folders.jsonl"

// folderRecord is a line of folders.jsonl.
type folderRecord struct {
	Folder string `json:"folder"`
}

// notedFolders is what this process knows to be in folders.jsonl.
type notedFolders struct {
	mu    sync.Mutex
	known map[string]bool
}

// noteFolder remembers that a session is written at path, so that blobs that it refers to are never taken for rubbish.
// When it returns the note survives a crash.
func (s *Store) noteFolder(ctx context.Context, path string) error {
	if s.opt.State == "" || s.opt.WriteDir == nil || path == "" {
		return nil
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	// Most sessions: then nothing is read or written.
	for _, r := range s.agentRoots() {
		if within(r.Sessions, abs) {
			return nil // it is looked at anyway
		}
	}
	folder := filepath.Dir(abs)
	if above, ok := sessionsAbove(abs); ok {
		folder = above // all sessions of that agent's folder share its blobs
	}
	s.noted.mu.Lock()
	defer s.noted.mu.Unlock()
	if s.noted.known[folder] {
		return nil
	}
	// The note must last before a blob relies on it.
	b, err := s.opt.WriteDir(s.opt.State, DurabilityAlways, nil)
	if err != nil {
		return err
	}
	err = appendFolder(ctx, b, folder)
	if err = errors.Join(err, b.Close()); err != nil {
		return fmt.Errorf("%s could not be noted as a folder with sessions: %w", folder, err)
	}
	if s.noted.known == nil {
		s.noted.known = map[string]bool{}
	}
	s.noted.known[folder] = true
	return nil
}

// note remembers the session's folder. That it could not be noted is no reason not to write; a blob, which might be taken
// for rubbish one day, is then refused.
func (s *Session) note(ctx context.Context) {
	if err := s.store.noteFolder(ctx, s.path); err != nil {
		s.w.opt.Log.Warn("folder not noted", "file", s.path, "error", err)
	}
}

// keepBlob keeps a blob that an entry of the session will refer to.
func (s *Session) keepBlob(ctx context.Context, b []byte) (string, error) {
	if err := s.store.noteFolder(ctx, s.path); err != nil {
		return "", err
	}
	ref, err := s.w.blobs.Put(ctx, b)
	return ref.String(), err
}

// appendFolder adds a folder to the log, unless it is there.
func appendFolder(ctx context.Context, b backend.Backend, folder string) error {
	record, err := json.Marshal(folderRecord{folder})
	if err != nil {
		return err
	}
	for range 50 {
		at, err := b.Stat(ctx, foldersLog)
		if errors.Is(err, backend.ErrNotExist) {
			_, err = b.Create(ctx, foldersLog, record)
			if errors.Is(err, backend.ErrExist) {
				continue
			}
			return err
		}
		if err != nil {
			return err
		}
		// Another process may have noted it.
		known, err := readFolders(ctx, b, at)
		if err != nil || known[folder] {
			return err
		}
		if _, err = b.Append(ctx, at, record); !errors.Is(err, backend.ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("%s: %w again and again", foldersLog, backend.ErrConflict)
}

// readFolders reads the log. A line that is none of ours is an error: what it meant is not known.
func readFolders(ctx context.Context, b backend.Backend, at backend.Log) (map[string]bool, error) {
	known := map[string]bool{}
	for r, err := range b.Read(ctx, at, 0) {
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(r.Data)) == 0 {
			continue
		}
		var f folderRecord
		switch err := json.Unmarshal(r.Data, &f); {
		case err == nil && filepath.IsAbs(f.Folder):
			known[f.Folder] = true
		case r.Torn: // a note that was cut off was never relied on
		default:
			// A folder that is overlooked is one whose blobs would be removed.
			return nil, fmt.Errorf("%s: the record at byte %d names no folder", foldersLog, r.Offset)
		}
	}
	return known, nil
}

// Folders gives the folders outside of the agents' own in which sessions were written.
func (s *Store) Folders(ctx context.Context) ([]string, error) {
	if s.opt.State == "" {
		return nil, nil
	}
	b, err := s.opt.OpenDir(s.opt.State)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	at, err := b.Stat(ctx, foldersLog)
	if errors.Is(err, backend.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	known, err := readFolders(ctx, b, at)
	return slices.Sorted(maps.Keys(known)), err
}

// forgetFolders takes folders out of the log. The log is rewritten whole: what others note meanwhile is a conflict, and is
// read with the next try.
func (s *Store) forgetFolders(ctx context.Context, gone []string) error {
	b, err := s.opt.WriteDir(s.opt.State, DurabilityAlways, nil)
	if err != nil {
		return err
	}
	defer b.Close()
	for range 50 {
		at, err := b.Stat(ctx, foldersLog)
		if err != nil {
			return err
		}
		known, err := readFolders(ctx, b, at)
		if err != nil {
			return err
		}
		var records [][]byte
		for _, f := range slices.Sorted(maps.Keys(known)) {
			if slices.Contains(gone, f) {
				continue
			}
			r, err := json.Marshal(folderRecord{f})
			if err != nil {
				return err
			}
			records = append(records, r)
		}
		if _, err := b.Replace(ctx, at, records...); !errors.Is(err, backend.ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("%s: %w again and again", foldersLog, backend.ErrConflict)
}

// agentRoots gives the agents' own folders, whatever Options.Roots says, each once.
func (s *Store) agentRoots() []dialect.Root {
	var list []dialect.Root
	for _, d := range s.opt.Dialects {
		for _, r := range d.Layout().Roots(s.opt.Env) {
			if !slices.Contains(list, r) {
				list = append(list, r)
			}
		}
	}
	return list
}

// within says whether a path is the folder or below it. Names only are compared: links are for the caller to resolve.
func within(folder, path string) bool {
	folder, path = filepath.Clean(folder), filepath.Clean(path)
	if rest, ok := strings.CutPrefix(path, folder); ok && (rest == "" || rest[0] == filepath.Separator) {
		return true
	}
	if filepath.Separator == '/' && filepath.IsAbs(folder) && filepath.IsAbs(path) && folder != "/" {
		return false // what Rel would find out with more effort
	}
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// sessionsAbove gives the nearest folder called "sessions" that a path lies in: its neighbour "blobs" is what the
// references in it mean.
func sessionsAbove(path string) (string, bool) {
	// The root is its own parent, and ends it.
	for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if filepath.Base(dir) == "sessions" {
			return dir, true
		}
	}
	return "", false
}
