package server

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/page"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/server/guard"
	"github.com/treeline-dev/treeline/server/view"
	"github.com/treeline-dev/treeline/usage"
	"github.com/treeline-dev/treeline/wire"
)

const (
	// listMost is the number of sessions on a page by default; mostListed is the largest number that a client may ask for.
	listMost, mostListed = 60, 1000
	// liveTime is how long after its last change a session counts as being written.
	liveTime = 3 * time.Minute
)

// row makes a row of a page from row i of a list.
func (r *request) row(l *view.List, i int) page.Row {
	row := &l.Rows[i]
	return page.Row{
		Row: wire.NewRow(row), Key: l.Keys[i], When: row.When(), Task: row.IsTask(),
		Live: r.s.opt.Clock().Sub(row.Log.Time) < liveTime,
	}
}

func sessionsPage(r *request) error {
	q := page.ParseListQuery(r.URL.Query())
	if q.Sort != "" && !slices.Contains(place.Orders, place.Order(q.Sort)) {
		return bad("the parameter \"sort\" must be one of %v, not %q", place.Orders, q.Sort)
	}
	event := r.s.feed.Last()
	if r.paged() {
		return r.showArchive(q, event)
	}
	l, err := r.listing()
	if err != nil {
		return err
	}
	// Texts such as "a minute ago" change with the time, so the tag does, too.
	again := r.s.list.Again()
	if !slices.Contains(q.Has, "run") && r.unchanged(fmt.Sprintf("%s-%d", r.aging(r.s.listTag(l, r)), again)) {
		return errNotModified
	}
	return r.html(func(b *bytes.Buffer) error {
		p, err := r.listPage(l, q)
		if err != nil {
			return err
		}
		p.Events, p.Again = r.s.base+apiPath+"/events?after="+event, again
		return r.s.site.Sessions(b, p)
	})
}

// aging makes the tag of an answer that depends on the time: it says how long ago something was, or has a span that ends now. The tag
// changes every minute.
func (r *request) aging(tag string) string {
	return fmt.Sprintf("%s-%d", tag, r.s.opt.Clock().Unix()/60)
}

// listPage fills the page of a list. A fork is shown below its parent if both are in the list; sub-agents are only counted.
func (r *request) listPage(l *view.List, q page.ListQuery) (p page.SessionsPage, err error) {
	fam := l.FamilyOf()
	p = page.SessionsPage{Query: q, Total: len(l.Rows) - fam.Folded, Agents: fam.Agents, Models: fam.Models, Projects: fam.CWDs, Problems: l.Problems}
	rows, err := r.narrowed(l, filterOf(q))
	if err != nil {
		return p, err
	}
	shown := make(map[int]bool, len(rows))
	order := make([]int, len(rows))
	for i := range rows {
		order[i] = l.ByPath[rows[i].Path]
		shown[order[i]] = true
	}
	used := fam.Repeats.Sum(rows, usage.Options{By: []usage.Key{}}).Total // like the usage page: the entries that forks repeat do not count twice
	p.Tokens, p.Cost = used.Tokens.Total, used.Cost
	if by := place.Order(q.Sort); by != "" && by != place.OrderWhen {
		sorted := place.Sort(slices.Clone(rows), by)
		for i := range sorted {
			order[i] = l.ByPath[sorted[i].Path]
		}
	}
	limit := min(cmp.Or(q.Limit, listMost), mostListed)
	list := view.Nested(order, shown, fam.Parents, func(i int) bool { return l.Rows[i].IsTask() })
	p.Matched = len(list)
	p.Full = len(list) > limit && limit == mostListed
	p.Rows = r.rowsOf(l, list[:min(len(list), limit)])
	if len(l.Rows) == 0 {
		p.Sources, err = listSources(r, struct{}{})
	}
	return p, err
}

// filterOf turns the query of a page into parameters of the API. A title without * and ? matches any title that contains it.
func filterOf(q page.ListQuery) filterParams {
	if q.Title != "" && !strings.ContainsAny(q.Title, "*?") {
		q.Title = "*" + q.Title + "*"
	}
	return filterParams{Source: q.Source, CWD: q.CWD, spanParams: spanParams{q.Since, q.Until}, Model: q.Model, Title: q.Title, Has: q.Has}
}

// rowsOf makes the rows of a page.
func (r *request) rowsOf(l *view.List, list []view.Placed) (rows []page.Row) {
	fam := l.FamilyOf()
	for _, n := range list {
		row := r.row(l, n.Row)
		depth := n.Depth
		row.Row.Depth = &depth
		if row.Tasks = fam.Tasks[n.Row]; row.Task {
			row.Tasks = 0
		}
		rows = append(rows, row)
	}
	return rows
}

func searchPage(r *request) error {
	q := r.URL.Query()
	p := page.SearchPage{Query: q.Get("q"), Limit: 50}
	alone := q.Get("part") == "hits"
	if alone {
		p.Limit = 12
	}
	return r.html(func(b *bytes.Buffer) error {
		if p.Query != "" {
			if err := r.fillSearch(&p); err != nil {
				return err
			}
		}
		if alone {
			return r.s.site.SearchHits(b, p)
		}
		return r.s.site.Search(b, p)
	})
}

// fillSearch searches, and fills in the page. An invalid query is reported on the page.
func (r *request) fillSearch(p *page.SearchPage) error {
	res, problems, err := r.found(searchParams{Query: p.Query, Limit: p.Limit})
	var wrong *badRequest
	var long *guard.Refusal
	switch {
	case errors.As(err, &wrong), errors.As(err, &long) && long.Status == http.StatusRequestURITooLong:
		p.Error = err.Error()
		return nil
	case err != nil:
		return err
	}
	l, err := r.listOf(keysOf(res))
	if err != nil {
		return err
	}
	found := wire.NewSearchResult(res, false)
	p.Matched, p.More, p.Problems = found.Matched, found.More, problems
	for _, h := range found.Hits {
		p.Hits = append(p.Hits, page.Hit{Hit: h, Key: l.KeyOf(h.Path)})
	}
	return nil
}
