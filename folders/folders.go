// Package folders remembers the folders outside of the agents' own in which sessions were written, so that garbage
// collection keeps the blobs that they refer to.
package folders

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/place"
)

// The log of noted folders lies in treeline's state folder. It has the folders outside of the agents' own in which sessions were written,
// and those in which garbage collection found sessions. Records of one folder are merged.
const foldersLog = "folders.jsonl"

// Notes are the noted folders of a machine. Their methods may be called from several goroutines at once.
type Notes struct {
	m     *place.Machine
	state string

	mu    sync.Mutex
	known map[string][]string // the sessions of each folder that this process has noted
}

// New returns the notes in state, treeline's own folder. If state is "", nothing is noted.
func New(m *place.Machine, state string) *Notes { return &Notes{m: m, state: state} }

// mostNoted is how many sessions of a folder are noted when they are written: enough to recognise the folder. Garbage collection notes
// more.
const mostNoted = 16

// NoteFolder remembers that a session is written at path, so that garbage collection keeps the blobs that it refers to.
// When it returns, the note survives a crash. Folders of the agents need no note: they are looked at anyway. Neither do
// URLs: sessions there have no blobs.
func (n *Notes) NoteFolder(ctx context.Context, path string) error {
	_, err := n.note(ctx, path, false)
	return err
}

// NoteNew is NoteFolder for a session whose log does not exist yet. Unlike NoteFolder it does not rely on another process's note of the
// same session: that process may take it back.
func (n *Notes) NoteNew(ctx context.Context, path string) (Note, error) {
	return n.note(ctx, path, true)
}

// Note is what NoteNew added. The zero value stands for nothing.
type Note struct {
	notes        *Notes
	folder, name string
	forgotten    bool // the folder was forgotten before
}

// TakeBack removes the note of a session that could not be created. Notes of other processes stay. So does a folder with so many notes that
// another process may have added none of its own.
func (t Note) TakeBack(ctx context.Context) error {
	if t.notes == nil {
		return nil
	}
	return t.notes.ChangeFolders(ctx, func(list []place.NotedFolder) []place.NotedFolder {
		i := slices.IndexFunc(list, func(f place.NotedFolder) bool { return f.Folder == t.folder })
		if i < 0 || len(list[i].Seen) >= mostNoted {
			return list
		}
		at := slices.Index(list[i].Seen, t.name)
		if at < 0 {
			return list
		}
		list[i].Seen = slices.Delete(list[i].Seen, at, at+1)
		if len(list[i].Seen) > 0 {
			return list
		}
		if list[i].Forgotten = t.forgotten; t.forgotten {
			return list
		}
		return slices.Delete(list, i, i+1)
	})
}

// note notes a session and its folder. fresh: the session is noted even if it already has a note.
func (n *Notes) note(ctx context.Context, path string, fresh bool) (added Note, err error) {
	if n.state == "" || n.m.ReadOnly() || path == "" || backend.Scheme(path) != "" {
		return added, nil
	}
	abs, err := place.Abs(path)
	if err != nil {
		return added, err
	}
	for _, r := range n.m.AgentRoots() {
		if place.Within(r.Sessions, abs) {
			return added, nil
		}
	}
	folder := place.Dir(abs)
	if above, ok := place.SessionsAbove(abs); ok {
		folder = above // all sessions in it share its blobs
	}
	name, _ := place.Below(folder, abs) // it lies in it
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.known[folder]) == mostNoted {
		return added, nil
	}
	b, err := n.m.OpenWriting(n.state, backend.DurabilityAlways)
	if err != nil {
		return added, err
	}
	wrote, forgotten, err := appendFolder(ctx, b, folder, name, fresh)
	if err != nil {
		return added, fmt.Errorf("%s could not be noted as a folder with sessions: %w", folder, err)
	}
	if wrote {
		added = Note{n, folder, name, forgotten}
	}
	if n.known == nil {
		n.known = map[string][]string{}
	}
	if noted := n.known[folder]; !slices.Contains(noted, name) { // another process may have forgotten the folder since it was noted: the log was checked above
		n.known[folder] = append(noted, name)
	}
	return added, nil
}

// appendFolder adds a session and its folder to the log, unless the log has them. forgotten: the folder was forgotten in the log.
func appendFolder(ctx context.Context, b backend.Backend, folder, name string, fresh bool) (wrote, forgotten bool, err error) {
	record, err := json.Marshal(place.NotedFolder{Folder: folder, Seen: []string{name}})
	if err != nil {
		return false, false, err
	}
	err = retryFolders(func() error {
		wrote, forgotten = true, false
		at, err := b.Stat(ctx, foldersLog)
		if errors.Is(err, backend.ErrNotExist) {
			_, err = b.Create(ctx, foldersLog, record)
			return err
		}
		// Another process may have noted it.
		known, err := readFolders(ctx, b, at, err)
		if err != nil {
			return err
		}
		f := known[folder]
		if f != nil && !f.Forgotten && (len(f.Seen) >= mostNoted || !fresh && slices.Contains(f.Seen, name)) {
			wrote = false
			return nil
		}
		forgotten = f != nil && f.Forgotten
		_, err = b.Append(ctx, at, record)
		return err
	})
	return wrote, forgotten, err
}

// retryFolders changes the log, and tries again if another process wrote first.
func retryFolders(change func() error) (err error) {
	for range 50 {
		if err = change(); !errors.Is(err, backend.ErrConflict) && !errors.Is(err, backend.ErrExist) {
			return err
		}
	}
	return fmt.Errorf("%s: %w", foldersLog, err)
}

// readFolders reads the log that Stat returned. A line that is not ours is an error: its meaning is unknown.
func readFolders(ctx context.Context, b backend.Backend, at backend.Log, err error) (map[string]*place.NotedFolder, error) {
	if err != nil {
		return nil, err
	}
	known := map[string]*place.NotedFolder{}
	for r, err := range b.Read(ctx, at, 0) {
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(r.Data)) == 0 {
			continue
		}
		var f place.NotedFolder
		switch err := json.Unmarshal(r.Data, &f); {
		case err == nil && (filepath.IsAbs(f.Folder) || backend.Scheme(f.Folder) != ""):
			if old := known[f.Folder]; old != nil && !f.Forgotten {
				f.Seen = append(old.Seen, f.Seen...)
			}
			known[f.Folder] = &f
		case r.Torn: // no program relied on a torn note
		default:
			// If the folder were ignored, its blobs would be removed.
			return nil, fmt.Errorf("%s: the record at byte %d names no folder", foldersLog, r.Offset)
		}
	}
	return known, nil
}

// sorted returns the folders in the order of their names.
func sorted(known map[string]*place.NotedFolder) (list []place.NotedFolder) {
	for _, folder := range slices.Sorted(maps.Keys(known)) {
		list = append(list, *known[folder])
	}
	return list
}

// Folders returns the noted folders, including forgotten ones.
func (n *Notes) Folders(ctx context.Context) ([]place.NotedFolder, error) {
	if n.state == "" {
		return nil, nil
	}
	b, err := n.m.Open(n.state)
	if err != nil {
		return nil, err
	}
	at, err := b.Stat(ctx, foldersLog)
	if errors.Is(err, backend.ErrNotExist) {
		return nil, nil
	}
	known, err := readFolders(ctx, b, at, err)
	return sorted(known), err
}

// ChangeFolders changes the notes. The log is rewritten as a whole. If another process adds a note meanwhile, that is a conflict, and
// change is called again.
func (n *Notes) ChangeFolders(ctx context.Context, change func([]place.NotedFolder) []place.NotedFolder) error {
	b, err := n.m.OpenWriting(n.state, backend.DurabilityAlways)
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.known = nil // a folder that is forgotten now is noted again with its next session
	return retryFolders(func() error {
		at, err := b.Stat(ctx, foldersLog)
		missing := errors.Is(err, backend.ErrNotExist)
		var known map[string]*place.NotedFolder
		if !missing {
			if known, err = readFolders(ctx, b, at, err); err != nil {
				return err
			}
		}
		var records [][]byte
		for _, f := range change(sorted(known)) {
			r, err := json.Marshal(f)
			if err != nil {
				return err
			}
			records = append(records, r)
		}
		switch {
		case missing && records == nil:
			return nil
		case missing:
			_, err = b.Create(ctx, foldersLog, records...)
		default:
			_, err = b.Replace(ctx, at, records...)
		}
		return err
	})
}
