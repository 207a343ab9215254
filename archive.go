package treeline

import (
	"context"
	"strings"

	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/place"
)

// findArchived is FindIn for an archive with an index of its own, which gives the sessions that may be meant.
func (s *Store) findArchived(ctx context.Context, source, ref string) (row Row, err error) {
	project := func() (string, error) { return s.archivedProject(ctx, source) }
	var rows []Row
	if before, last := place.Last(ref); last {
		dir, err := project()
		if err == nil {
			rows, err = s.newest(ctx, Filter{Source: source, CWD: dir}, before)
		}
		if err != nil {
			return Row{}, err
		}
		project = func() (string, error) { return dir, nil }
	} else {
		// Ids are mostly hex digits, and people type them in either case.
		rows, err = s.LookUp(ctx, find.Keys{Prefixes: []string{ref, strings.ToLower(ref), strings.ToUpper(ref)}})
		if err != nil {
			return Row{}, err
		}
		place.Shorten(rows)
	}
	return s.FindAmong(rows, source, ref, project)
}

// archivedProject is place.Machine.Project for the sessions of a source in an archive. The index is asked about each directory that
// may be the project, the nearest first.
func (s *Store) archivedProject(ctx context.Context, source string) (dir string, err error) {
	none := func(func(string) bool) {}
	dir = s.ProjectAmong(none, func(dir string) bool {
		if err != nil {
			return true
		}
		var p Page
		p, err = s.Page(ctx, Filter{Source: source, CWD: dir}, PageOptions{Limit: 1})
		return err != nil || len(p.Rows) > 0
	})
	return dir, err
}

// newest gives sessions that a filter lets through, the newest first, until there is one after so many that are not sub-agents.
func (s *Store) newest(ctx context.Context, f Filter, before int) (rows []Row, err error) {
	opt := PageOptions{Limit: min(before, 100) + 10}
	for {
		p, err := s.Page(ctx, f, opt)
		if err != nil {
			return nil, err
		}
		for i := range p.Rows {
			rows = append(rows, p.Rows[i])
			if p.Rows[i].IsTask() {
				continue
			}
			if before--; before < 0 {
				return rows, nil
			}
		}
		if opt.After = p.Next; p.Next == "" {
			return rows, nil
		}
	}
}
