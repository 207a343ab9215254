package find

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/internal/shortid"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/session"
)

// runFacts finds what lists of runs filter and sort by, from the header of a run.
func (r *reader) runFacts(ctx context.Context, b backend.Backend, l *index.Log) (*index.Facts, error) {
	at := l.Stamp.Nanos
	f := &index.Facts{Run: true, When: at, Made: index.Unknown, Used: at, Touched: at}
	sum, err := run.Peek(l.Stamp.Size, func(head, tail int64) (first, last []byte, err error) {
		return r.peek.Ends(ctx, b, logOf(l), head, tail)
	})
	if errors.Is(err, run.ErrNotHeader) {
		f.Problem = err.Error()
		return f, nil
	}
	if f.ID, f.CWD, f.Parent = sum.Header.RunID, sum.CWD(), sum.Header.SessionID; !sum.Started.IsZero() {
		f.Made = nanos(sum.Started)
		f.When = f.Made
	}
	return f, err
}

// RunOptions say which runs of an archive are wanted.
type RunOptions struct {
	// Session, if set, keeps the runs of that session, CWD those of that working directory, and Prefixes those whose ids begin with one of
	// them.
	Session  session.ID
	CWD      string
	Prefixes []string
	// Project, if set, reports for a working directory whether its runs exist for the caller.
	Project func(cwd string) bool
	// Limit is how many runs are wanted; 0 means all. After is RunPage.Next of the page before.
	Limit int
	After string
	// TotalMost bounds RunPage.Total; 0 means that Total is not counted.
	TotalMost int
}

// RunPage is a part of a list of runs.
type RunPage struct {
	// Runs have only the ids of the run and of its session in their summaries.
	Runs []Run
	// Next is the RunOptions.After of the next page; "" if there is none.
	Next string
	// Total is how many runs all pages have, -1 if there are more than TotalMost.
	Total int
}

// Runs brings the index of an archive up to date and returns a page of its runs, the newest first. It reads no run. It fails with
// index.ErrNone if the archive has no index; see Paged.
func (f *Finder) Runs(ctx context.Context, opt RunOptions) (page RunPage, err error) {
	if beside, err := f.fresh(ctx, RefreshOptions{}); !beside {
		return page, cmp.Or(err, index.ErrNone)
	}
	sel, _, err := f.selection(ctx, place.Filter{CWD: opt.CWD, Project: opt.Project})
	if err != nil {
		return page, err
	}
	sel.CWDs = slices.DeleteFunc(sel.CWDs, func(cwd string) bool { return cwd == "" && opt.CWD != "" }) // runs are not placed by their folders
	sel.Runs, sel.Order, sel.Prefixes = true, index.OrderWhen, opt.Prefixes
	if opt.Session != "" {
		sel.Parents = []string{index.LastPart(string(opt.Session))}
	}
	if opt.TotalMost > 0 {
		count := sel
		count.Limit = opt.TotalMost + 1
		n, err := f.shared.Count(ctx, count, nil)
		if err != nil {
			return page, err
		}
		if page.Total = n.Logs; n.Logs > opt.TotalMost {
			page.Total = -1
		}
	}
	if opt.After != "" {
		at, err := readCursor[index.Position](opt.After)
		if err != nil || !at.Fits(sel.Order) {
			return page, ErrCursor
		}
		sel.After = &at
	}
	var last *index.Found
	for sel.Limit = pageSize; ; sel.After = last.PositionOf(sel.Order) {
		if opt.Limit > 0 {
			sel.Limit = min(opt.Limit+1-len(page.Runs), pageSize)
		}
		list, err := f.shared.Select(ctx, sel)
		if err != nil {
			return page, err
		}
		for i := range list {
			if opt.Limit > 0 && len(page.Runs) == opt.Limit {
				page.Next = cursor(last.PositionOf(sel.Order))
				return page, f.shortenRuns(ctx, &opt, page.Runs)
			}
			last = &list[i]
			if one, ok := f.runOf(last, &opt); ok {
				page.Runs = append(page.Runs, one)
			}
		}
		if len(list) < sel.Limit {
			return page, f.shortenRuns(ctx, &opt, page.Runs)
		}
	}
}

// runOf makes a run of a log if it is wanted: columns of an index may be truncated, so it checks again.
func (f *Finder) runOf(l *index.Found, opt *RunOptions) (r Run, ok bool) {
	src, ok := f.m.ArchivedSource(l.Source)
	if !ok || opt.Session != "" && l.Facts.Parent != string(opt.Session) || opt.Project != nil && !opt.Project(l.Facts.CWD) {
		return r, false
	}
	b, err := f.m.Open(src.Root.Sessions)
	if err != nil {
		return r, false
	}
	r = Run{Location: place.Location{Backend: b, Name: l.Name, Path: src.PathOf(l.Name)}, Log: logOf(&l.Log), source: &src}
	r.Header.RunID, r.Header.SessionID = l.Facts.ID, l.Facts.Parent
	return r, true
}

// shortenRuns fills in short ids that are unique among the runs that the caller may see.
func (f *Finder) shortenRuns(ctx context.Context, opt *RunOptions, runs []Run) error {
	if len(runs) == 0 {
		return nil
	}
	like, _, err := f.selection(ctx, place.Filter{Project: opt.Project})
	if err != nil {
		return err
	}
	like.Runs, like.Limit = true, similarMost+1
	ids := make([]string, len(runs))
	for i := range runs {
		ids[i] = runs[i].Header.RunID
		like.Like = append(like.Like, index.LikeID(ids[i]))
	}
	others, err := f.shared.Select(ctx, like)
	if err != nil {
		return err
	}
	for i := range others {
		if id := others[i].Facts.ID; !slices.Contains(ids[:len(runs)], id) {
			ids = append(ids, id)
		}
	}
	for i, short := range shortid.All(ids)[:len(runs)] {
		if runs[i].Short = short; len(others) > similarMost {
			runs[i].Short = ids[i] // too many other ids begin alike
		}
	}
	return nil
}
