package treeline

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/run"
)

// ProjectOf returns the working directory of the session or run at a path, as lists show it, from the ends of its log. It is "" if the
// log names none, or is neither a session nor a run. content, if not nil, is the beginning of what the caller is about to write to
// the log, and is read instead of it. A log in the folder of a session belongs to that session.
func (s *Store) ProjectOf(ctx context.Context, path string, content []byte) (string, error) {
	if !place.IsRuns(s.DialectAt(path)) {
		return s.ProjectAt(ctx, path, content)
	}
	size, ends := int64(len(content)), func(int64, int64) ([]byte, []byte, error) { return content, nil, nil }
	if content == nil {
		at, err := s.Locate(path)
		if err != nil {
			return "", err
		}
		log, err := at.Backend.Stat(ctx, at.Name)
		if err != nil {
			return "", err
		}
		peek := s.NewPeeker()
		size, ends = log.Size, func(head, tail int64) ([]byte, []byte, error) { return peek.Ends(ctx, at.Backend, log, head, tail) }
	}
	sum, err := run.Peek(size, ends)
	if err != nil {
		return "", nil //nolint:nilerr // it is not a run
	}
	return sum.CWD(), nil
}

// Here returns the project of the working directory: the directory whose sessions are meant there, or "" if it has no sessions. The
// catalogue is brought up to date first; in an archive with an index of its own, only the list of working directories is read.
func (s *Store) Here(ctx context.Context, opt RefreshOptions) (string, error) {
	if s.Paged() {
		dirs, err := s.Projects(ctx)
		dir := s.ProjectAmong(slices.Values(dirs), nil)
		if err != nil || !slices.ContainsFunc(dirs, func(d string) bool { return s.SameDir(d, dir) }) {
			return "", err
		}
		return dir, nil
	}
	rows, err := s.Catalogue(ctx, opt)
	if err != nil {
		return "", err
	}
	dir := s.Project(rows)
	rows = place.Drop(s.InDir(dir, rows), func(r *Row) bool { return r.Err != nil })
	if len(rows) == 0 {
		return "", nil
	}
	return dir, nil
}

// ProjectLog returns the path of the log whose content names the project of the log at a path. That is the log itself or, for a log in
// the folder of a session, the session's log.
func (s *Store) ProjectLog(path string) string {
	at, err := s.Locate(path)
	if d := s.DialectAt(path); err == nil && !place.IsRuns(d) && !d.Layout().Owns(at.Name) {
		return cmp.Or(s.OwnerOf(path), path)
	}
	return path
}

// OwnerOf returns the path of the session in whose folder the log at a path lies; "" if it lies in none.
func (s *Store) OwnerOf(path string) string {
	at, err := s.Locate(path)
	if err != nil {
		return ""
	}
	owner := dialect.Owner(s.DialectAt(path).Layout(), at.Name)
	if owner == "" {
		return ""
	}
	return strings.TrimSuffix(at.Path, at.Name) + owner
}
