package finding

import (
	"context"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/console"
	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/find/listing"
	"github.com/treeline-dev/treeline/place"
)

// lsPage is ls for an archive with an index of its own: it loads only the sessions that it shows.
func lsPage(ctx context.Context, a *cli.App, s *treeline.Store, f *lsFlags, filter treeline.Filter, project bool, most int) (err error) {
	if project {
		if filter.CWD, err = s.ProjectHere(ctx, filter.Source); err != nil {
			return err
		}
		a.NoteProject(s, filter.CWD)
	}
	l, err := newest(ctx, a, s, filter, place.Order(f.sort), most)
	if err != nil {
		return err
	}
	list := listing.Of(l.rows)
	shown := list.First(most)
	err = a.PageLong(ctx, f.Given, func(out *console.Output) error {
		if a.JSON {
			return listJSON(out, shown, nil)
		}
		listTable(a, out, shown, nil, place.Order(f.sort))
		switch {
		case l.all && shown.Len() == len(l.rows):
			out.Summary(shown.Len(), len(l.rows), false, "session", "sessions", rowSums(list, l.tasks)...)
		case l.total < 0:
			out.Summary(shown.Len(), cli.CountedMost, true, "session", "sessions")
		default:
			out.Summary(shown.Len(), l.total-l.tasks, false, "session", "sessions")
		}
		return nil
	})
	if len(l.rows) > 0 || err != nil {
		return err
	}
	any, err := s.Page(ctx, treeline.Filter{}, treeline.PageOptions{Limit: 1, Total: true})
	if err == nil && len(any.Rows) == 0 {
		nothingHere(a, s)
	} else if err == nil {
		notListed(a, filter, 0, any.Total, nil)
	}
	return err
}

// firstRows are the first rows of a list.
type firstRows struct {
	rows  []place.Row
	all   bool // there are no more
	total int  // number of all rows, including sub-agents; -1 if that exceeds cli.CountedMost
	tasks int  // number of sub-agents that were left out
}

// tasksAmong returns the paths of sub-agents whose session is in a list.
func tasksAmong(rows []place.Row) map[string]bool {
	tasks := map[string]bool{}
	for i, p := range place.Parents(rows) {
		if p >= 0 && rows[i].IsTask() {
			tasks[rows[i].Path] = true
		}
	}
	return tasks
}

// newest returns the first rows of a list, at least most if there are as many. For people, the list omits sub-agents whose session is in
// it.
func newest(ctx context.Context, a *cli.App, s *treeline.Store, filter treeline.Filter, order place.Order, most int) (l firstRows, err error) {
	show := a.Progress("reading sessions")
	defer show.Clear()
	opt := treeline.PageOptions{Order: order, Limit: most, Total: !a.JSON, TotalMost: cli.CountedMost}
	opt.Problem, opt.Progress = a.Unread, cli.LogsRead(show)
	for {
		page, err := s.Page(ctx, filter, opt)
		if err != nil {
			return l, err
		}
		if opt.Total {
			l.total = page.Total
		}
		if !a.JSON {
			all, err := s.Kin(ctx, page.Rows, find.KinOptions{})
			if err == nil {
				all, err = s.Filter(ctx, all, filter)
			}
			if err != nil {
				return l, err
			}
			tasks := tasksAmong(all)
			before := len(page.Rows)
			page.Rows = place.Drop(page.Rows, func(r *place.Row) bool { return tasks[r.Path] })
			l.tasks += before - len(page.Rows)
		}
		l.rows = append(l.rows, page.Rows...)
		opt.After, opt.Total = page.Next, false
		if l.all = page.Next == ""; l.all || len(l.rows) >= most {
			return l, nil
		}
	}
}
