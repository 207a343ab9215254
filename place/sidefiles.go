package place

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/logtree"
)

// sideMost is the largest size of a file in a session's folder. The files are read into memory.
const sideMost = 64 << 20

// ErrLink is wrapped by the error for a file of a session's folder that is reached through a symbolic link. Links in such
// a folder are not followed: what they lead to is not the session's.
var ErrLink = errors.New("not a plain file in a plain folder")

// SideFiles are files in the folder of a session. See dialect.Foldered.
type SideFiles struct {
	Backend backend.Backend
	// Folder is the folder's name beside the log, "." if the log is in the folder, "" if the session cannot have one.
	Folder string
	// Prefix is what the names of the files begin with in the backend.
	Prefix string
	// Dir is the folder's path; "" if the backend has no folders in the file system.
	Dir string
	// Logs are the files.
	Logs []backend.Log
}

// SideFolder returns the folder of a log without reading it.
func SideFolder(d dialect.Dialect, l Location) SideFiles {
	f, ok := d.Layout().(dialect.Foldered)
	if !ok || l.Name == "" || l.Backend == nil {
		return SideFiles{}
	}
	in, dir := path.Dir(l.Name), ""
	if l.Path != "" && !isURL(l.Path) {
		if abs, err := Abs(l.Path); err == nil {
			dir = Dir(abs)
			in = Base(dir)
		}
	}
	name := f.Folder(path.Join(path.Base(in), path.Base(l.Name)))
	if name == "" {
		return SideFiles{}
	}
	s := SideFiles{Backend: l.Backend, Folder: name, Prefix: SidePrefix(l.Name, name)}
	if dir != "" {
		s.Dir = Join(dir, name)
	}
	return s
}

// SidePrefix returns the prefix of the names of files in a folder beside the log of that name; see SideFiles.Folder.
func SidePrefix(log, folder string) string {
	if below := path.Join(path.Dir(log), folder); below != "." {
		return below + "/"
	}
	return ""
}

// FindSideFiles lists the files in the folder of a log, without the log itself. Links are not listed, so they stay where they are.
func FindSideFiles(ctx context.Context, d dialect.Dialect, l Location) (SideFiles, error) {
	s := SideFolder(d, l)
	if s.Folder == "" || s.plain(".", true) != nil {
		return s, nil
	}
	for log, err := range s.Backend.List(ctx, s.Prefix) {
		if err != nil {
			return s, err
		}
		if log.Name == l.Name || s.plain(strings.TrimPrefix(log.Name, s.Prefix), false) != nil {
			continue
		}
		at, err := s.Backend.Stat(ctx, log.Name) // Stat returns a Log that can be removed
		if err != nil {
			return s, err
		}
		s.Logs = append(s.Logs, at)
	}
	return s, ctx.Err()
}

// ReadSideFile reads a file in the folder of a log. The name is relative to the folder.
func ReadSideFile(ctx context.Context, d dialect.Dialect, l Location, name string) ([]byte, error) {
	s := SideFolder(d, l)
	if s.Folder == "" {
		return nil, fmt.Errorf("%s: %w", name, backend.ErrNotExist)
	}
	if err := s.plain(name, false); err != nil {
		return nil, err
	}
	content, _, err := s.read(ctx, s.Prefix+name)
	return content, err
}

// read reads a file, and returns its identity at the time of the read.
func (s SideFiles) read(ctx context.Context, name string) ([]byte, backend.Log, error) {
	at, err := s.Backend.Stat(ctx, name)
	if err == nil && at.Size > sideMost {
		err = fmt.Errorf("%s: %d bytes are more than the %d that are read", name, at.Size, sideMost)
	}
	if err != nil {
		return nil, at, err
	}
	content, err := backend.ReadAll(ctx, s.Backend, at)
	return content, at, err
}

// plain refuses a name below the folder that leads through a symbolic link, or to something that is not a file (with folder set, not a
// folder).
func (s SideFiles) plain(name string, folder bool) error {
	if err := backend.CheckName(name); err != nil && name != "." {
		return err
	}
	if s.Dir == "" {
		return nil
	}
	names := strings.Split(path.Join(".", name), "/")
	at := filepath.FromSlash(s.Dir)
	for k := -1; k < len(names); k++ {
		if k >= 0 {
			at = filepath.Join(at, names[k])
		}
		info, err := os.Lstat(at)
		if err != nil {
			if errors.Is(err, os.ErrNotExist) {
				err = backend.ErrNotExist
			}
			return fmt.Errorf("%s: %w", at, err)
		}
		isFile := k == len(names)-1 && !folder
		if isFile && !info.Mode().IsRegular() || !isFile && !info.IsDir() {
			return fmt.Errorf("%s: %w", at, ErrLink)
		}
	}
	return nil
}

// CopyTo copies the files below another prefix, with their times, byte for byte unless change is given. A file that is already there with
// the same bytes was left by a crash, and stays; one with other bytes fails with backend.ErrExist. The copies survive a crash. made are the
// new files, also after an error. s.Logs are then the files as they were copied.
func (s *SideFiles) CopyTo(ctx context.Context, b backend.Backend, prefix, dir string, change func(name string, content []byte) []byte) (made SideFiles, err error) {
	made = SideFiles{Backend: b, Prefix: prefix, Dir: dir}
	for i := range s.Logs {
		content, at, err := s.read(ctx, s.Logs[i].Name)
		if err != nil {
			return made, err
		}
		s.Logs[i] = at
		if change != nil {
			content = change(at.Name, content)
		}
		name := prefix + strings.TrimPrefix(at.Name, s.Prefix)
		log, isNew, err := backend.RestoreOnce(ctx, b, name, content, at.Time)
		if isNew {
			made.Logs = append(made.Logs, log)
		}
		if err != nil {
			return made, err
		}
	}
	return made, nil
}

// Remove removes the files, and the folders that are then empty. A file that changed stays.
func (s SideFiles) Remove(ctx context.Context) (err error) {
	folders := []string{""}
	for _, at := range s.Logs {
		if gone := s.Backend.Remove(ctx, at); gone != nil && !errors.Is(gone, backend.ErrNotExist) {
			err = errors.Join(err, gone)
		}
		for dir := path.Dir(strings.TrimPrefix(at.Name, s.Prefix)); dir != "."; dir = path.Dir(dir) {
			folders = append(folders, dir)
		}
	}
	if s.Dir == "" {
		return err
	}
	slices.SortFunc(folders, func(a, b string) int { return len(b) - len(a) })
	for _, dir := range slices.Compact(folders) {
		if s.plain(path.Join(".", dir), true) == nil {
			_ = os.Remove(filepath.Join(filepath.FromSlash(s.Dir), filepath.FromSlash(dir))) // fails if the folder is not empty
		}
	}
	return err
}

// SideMove are the files of a session's folder during a move of the session: they are at both places.
type SideMove struct {
	log        Location // at the old place
	from, made SideFiles
}

// MoveSideFiles copies the files of a log's folder to where the log is about to be moved. In the copies, logs of sub-agents that worked in
// oldCWD name cwd instead, like their session. Settle ends the move.
func (m *Machine) MoveSideFiles(ctx context.Context, d dialect.Dialect, from Location, path, oldCWD, cwd string) (v SideMove, err error) {
	v.log = from
	if v.from, err = FindSideFiles(ctx, d, from); err != nil || len(v.from.Logs) == 0 {
		return v, err
	}
	l, release, err := m.LocateWriting(path, backend.DurabilityAlways, nil)
	if err != nil {
		return v, err
	}
	to := SideFolder(d, l)
	change := func(name string, content []byte) []byte { return movedLog(d, name, content, oldCWD, cwd) }
	if v.made, err = v.from.CopyTo(ctx, to.Backend, to.Prefix, to.Dir, change); err != nil {
		err = errors.Join(err, v.made.Remove(context.WithoutCancel(ctx)))
	}
	return v, errors.Join(err, release())
}

// movedLog returns the log of a sub-agent with another working directory in its header. It returns any other file as it is.
func movedLog(d dialect.Dialect, name string, content []byte, oldCWD, cwd string) []byte {
	w, ok := d.(dialect.Writer)
	if !ok || !backend.IsText(name) {
		return content
	}
	h := logtree.FromText(d, name, content).Tree.Header()
	if h.Raw == nil || h.CWD != oldCWD || h.Span.End() > int64(len(content)) {
		return content
	}
	header, _, err := w.EditHeader(h, nil, dialect.HeaderEdit{CWD: &cwd})
	if err != nil {
		return content
	}
	return slices.Concat(content[:h.Span.Offset], header, content[h.Span.End():])
}

// Settle removes the files from the place that the log did not end up in.
func (v SideMove) Settle(ctx context.Context) error {
	if len(v.from.Logs) == 0 {
		return nil
	}
	if _, err := v.log.Backend.Stat(ctx, v.log.Name); err == nil {
		return v.made.Remove(ctx) // the log did not move
	}
	if err := v.from.Remove(ctx); err != nil {
		return fmt.Errorf("the session was moved with the files of its folder, but some of them are still at the old place: %w", err)
	}
	return nil
}
