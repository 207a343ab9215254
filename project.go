package treeline

import (
	"context"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/run"
)

// ProjectOf gives the working directory of the session or run at a path, as lists show it, from the ends of its log; "" if it
// names none, or is neither. content, if not nil, is how the content begins that the log is to have, and decides instead. A log
// in the folder of a session belongs to that session.
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
		return "", nil //nolint:nilerr // it is no run
	}
	return sum.CWD(), nil
}

// OwnerOf gives the path of the session in whose folder the log at a path lies; "" for none.
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
