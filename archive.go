package treeline

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/runs"
	"github.com/treeline-dev/treeline/session"
)

// This file has what an index beside an archive can answer, so that not all logs need to be listed.

// findArchived is FindIn for an archive with an index of its own, which gives the sessions that ref may mean. It fails with
// index.ErrNone if the archive proves to have no index: the caller then searches the names of logs, and reads none of the logs.
func (s *Store) findArchived(ctx context.Context, source, ref string) (row Row, err error) {
	if x, err := s.Index(ctx, true, RefreshOptions{}); err != nil || x == nil {
		return Row{}, cmp.Or(err, index.ErrNone)
	}
	project := func() (string, error) { return s.ProjectHere(ctx, source) }
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
		// Ids are mostly hex digits, and users type them in either case.
		rows, err = s.LookUp(ctx, find.Keys{Prefixes: spellings(ref)})
		if err != nil {
			return Row{}, err
		}
		place.Shorten(rows)
	}
	return s.FindAmong(rows, source, ref, project)
}

// spellings are the ways in which an id that begins with ref may be spelled.
func spellings(ref string) []string { return []string{ref, strings.ToLower(ref), strings.ToUpper(ref)} }

// ProjectHere is place.Machine.Project for the sessions of a source ("" for all) in an archive with an index of its own; see Paged. The
// index is asked about each directory that may be the project, the nearest first.
func (s *Store) ProjectHere(ctx context.Context, source string) (dir string, err error) {
	return s.nearest(func(dir string) (bool, error) {
		p, err := s.Page(ctx, Filter{Source: source, CWD: dir}, PageOptions{Limit: 1})
		return len(p.Rows) > 0, err
	})
}

// RunsProjectHere is ProjectHere for runs instead of sessions.
func (s *Store) RunsProjectHere(ctx context.Context) (string, error) {
	return s.nearest(func(dir string) (bool, error) {
		p, err := s.find.Runs(ctx, RunPageOptions{CWD: dir, Limit: 1})
		return len(p.Runs) > 0, err
	})
}

// nearest returns the first directory that may be the project and for which has returns true.
func (s *Store) nearest(has func(dir string) (bool, error)) (dir string, err error) {
	none := func(func(string) bool) {}
	dir = s.ProjectAmong(none, func(dir string) (found bool) {
		if err == nil {
			found, err = has(dir)
		}
		return found || err != nil
	})
	return dir, err
}

// newest returns the newest sessions that a filter lets through, up to the one that has before others ahead of it. Sessions of
// sub-agents are included but not counted.
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

// RunPage is a part of the runs in an archive.
type RunPage struct {
	Rows []RunRow
	// Next is the value for RunPageOptions.After that gives the next page; "" if there is none.
	Next string
	// Total is the number of runs on all pages, -1 if there are more than TotalMost.
	Total int
}

// RunPageOptions say which runs of an archive to give.
type RunPageOptions = find.RunOptions

// RunPage returns a page of the runs in an archive with an index of its own (see Paged), the newest first. Its cost depends only on the
// page.
func (s *Store) RunPage(ctx context.Context, opt RunPageOptions) (page RunPage, err error) {
	found, err := s.find.Runs(ctx, opt)
	if err != nil {
		return page, err
	}
	page = RunPage{Rows: make([]RunRow, len(found.Runs)), Next: found.Next, Total: found.Total}
	for i := range found.Runs {
		page.Rows[i] = RunRow{Path: found.Runs[i].Path, Log: found.Runs[i].Log, Short: found.Runs[i].Short}
	}
	return page, s.runs.Look(ctx, page.Rows)
}

// archivedRuns is Runs for an archive.
func (s *Store) archivedRuns(ctx context.Context, opt RunListOptions) ([]RunRow, error) {
	page, err := s.RunPage(ctx, RunPageOptions{Session: opt.Session, CWD: opt.CWD})
	if opt.Session != "" {
		page.Rows = slices.DeleteFunc(page.Rows, func(r RunRow) bool { return r.Err != nil })
	}
	return page.Rows, err
}

// findArchivedRun is FindRun for an archive.
func (s *Store) findArchivedRun(ctx context.Context, ref string) (RunRow, error) {
	source, name := s.SplitSource(ref)
	before, last := place.Last(name)
	opt := RunPageOptions{Limit: min(before, 100) + 10}
	if !last {
		opt = RunPageOptions{Prefixes: spellings(name)}
	}
	for rows := []RunRow(nil); ; {
		page, err := s.RunPage(ctx, opt)
		if err != nil {
			return RunRow{}, err
		}
		rows = append(rows, page.Rows...)
		row, err := s.runs.FindAmong(rows, ref)
		if opt.After = page.Next; !errors.Is(err, runs.ErrNoRun) || page.Next == "" || !last && source == "" {
			return row, err
		}
	}
}

// sessionsWithRuns returns the ids of the sessions that have runs.
func (s *Store) sessionsWithRuns(ctx context.Context) (with map[session.ID]bool, err error) {
	with = map[session.ID]bool{}
	if s.Paged() {
		page, err := s.find.Runs(ctx, RunPageOptions{})
		if !errors.Is(err, index.ErrNone) {
			for i := range page.Runs {
				with[session.ID(page.Runs[i].Header.SessionID)] = true
			}
			return with, err
		}
	}
	list, err := s.runs.List(ctx, RunListOptions{})
	for i := range list {
		with[session.ID(list[i].Header.SessionID)] = true
	}
	return with, err
}

// pathsIn returns the paths of the sessions in a working directory, as the index knows them; nil if the index may be incomplete.
func (s *Store) pathsIn(ctx context.Context, cwd string) (map[string]bool, error) {
	stale := false
	opt := find.EachOptions{RefreshOptions: RefreshOptions{Problem: func(error) { stale = true }}}
	paths := map[string]bool{}
	err := s.Each(ctx, Filter{CWD: cwd}, opt, func(rows, _ []Row) error {
		for i := range rows {
			paths[rows[i].Path] = true
		}
		return nil
	})
	if stale || !s.Paged() {
		return nil, err
	}
	return paths, err
}
