package server

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/treeline-dev/treeline/page"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/server/guard"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/usage"
	"github.com/treeline-dev/treeline/wire"
)

const (
	// listMost is how many sessions a page lists unless it is asked for more, and mostListed how many it may be asked for.
	listMost, mostListed = 60, 1000
	// liveTime is how long after a change a session counts as being written.
	liveTime = 3 * time.Minute
)

// family is how the sessions of a list belong together.
type family struct {
	parents []int         // of each row, -1 for none
	below   map[int][]int // the forks and sub-agents of a row
	tasks   []int         // sub-agents of each row, whose own sub-agents count, too
	folded  int           // sub-agents that the row of another session counts
	repeats *usage.Catalogue
	agents  []page.Choice
	models  []page.Choice
	cwds    []page.Choice
}

// familyOf finds out how the rows belong together. It is made once for each list, when a page first needs it.
func (l *listing) familyOf() *family {
	l.once.Do(func() {
		f := family{parents: place.Parents(l.rows), repeats: usage.Look(l.rows), below: map[int][]int{}, tasks: make([]int, len(l.rows))}
		agents, models, cwds := map[string]int{}, map[string]int{}, map[string]int{}
		for i := range l.rows {
			r := &l.rows[i]
			agents[r.Dialect.Name()]++
			if r.CWD != "" {
				cwds[r.CWD]++
			}
			if r.Known != nil {
				for _, m := range r.Known.Models {
					models[m]++
				}
			}
			if p := f.parents[i]; p >= 0 {
				f.below[p] = append(f.below[p], i)
				if r.IsTask() {
					f.folded++
				}
			}
			for p, k := f.parents[i], i; p >= 0 && l.rows[k].IsTask(); p, k = f.parents[p], p {
				f.tasks[p]++
			}
		}
		f.agents, f.models, f.cwds = choices(agents), choices(models), choices(cwds)
		l.family = f
	})
	return &l.family
}

// choices lists values, the most used first.
func choices(count map[string]int) []page.Choice {
	const most = 40
	list := make([]page.Choice, 0, len(count))
	for _, value := range slices.Sorted(maps.Keys(count)) {
		list = append(list, page.Choice{Value: value, Count: count[value]})
	}
	slices.SortStableFunc(list, func(a, b page.Choice) int { return b.Count - a.Count })
	return list[:min(len(list), most)]
}

// row makes the row of a page.
func (r *request) row(l *listing, i int) page.Row {
	row := &l.rows[i]
	return page.Row{
		Row: wire.NewRow(row), Key: l.keys[i], When: row.When(), Task: row.IsTask(),
		Live: r.s.opt.Clock().Sub(row.Log.Time) < liveTime,
	}
}

func sessionsPage(r *request) error {
	q := page.ParseListQuery(r.URL.Query())
	event := r.s.feed.last()
	l, err := r.listing()
	if err != nil {
		return err
	}
	// What is a minute ago now is not in an hour.
	if !slices.Contains(q.Has, "run") && r.unchanged(fmt.Sprintf("%s-%d", r.s.listTag(l, r), r.minute())) {
		return errNotModified
	}
	return r.html(func(b *bytes.Buffer) error {
		p, err := r.listPage(l, q)
		if err != nil {
			return err
		}
		p.Events = r.s.base + apiPath + "/events?after=" + event
		return r.s.site.Sessions(b, p)
	})
}

// minute counts minutes, for the tags of pages that say how long ago something was.
func (r *request) minute() int64 { return r.s.opt.Clock().Unix() / 60 }

// listPage fills the page of a list. Forks stand below their parent if both are in the list; sub-agents are counted.
func (r *request) listPage(l *listing, q page.ListQuery) (p page.SessionsPage, err error) {
	if q.Sort != "" && !slices.Contains(place.Orders, place.Order(q.Sort)) {
		return p, bad("the parameter \"sort\" must be one of %v, not %q", place.Orders, q.Sort)
	}
	fam := l.familyOf()
	p = page.SessionsPage{Query: q, Total: len(l.rows) - fam.folded, Agents: fam.agents, Models: fam.models, Projects: fam.cwds, Problems: l.problems}
	rows, err := r.narrowed(l, filterParams{
		Source: q.Source, CWD: q.CWD, spanParams: spanParams{q.Since, q.Until}, Model: q.Model, Title: q.Title, Has: q.Has,
	})
	if err != nil {
		return p, err
	}
	shown := make(map[int]bool, len(rows))
	order := make([]int, len(rows))
	for i := range rows {
		order[i] = l.byPath[rows[i].Path]
		shown[order[i]] = true
	}
	used := fam.repeats.Sum(rows, usage.Options{By: []usage.Key{}}).Total // as the page of usage has it: forks do not count twice
	p.Tokens, p.Cost = used.Tokens.Total, used.Cost
	if by := place.Order(q.Sort); by != "" && by != place.OrderWhen {
		sorted := place.Sort(slices.Clone(rows), by)
		for i := range sorted {
			order[i] = l.byPath[sorted[i].Path]
		}
	}
	limit := min(cmp.Or(q.Limit, listMost), mostListed)
	list := nested(order, shown, fam.parents, func(i int) bool { return l.rows[i].IsTask() })
	p.Matched = len(list)
	p.Full = len(list) > limit && limit == mostListed
	for _, n := range list[:min(len(list), limit)] {
		row := r.row(l, n.row)
		depth := n.depth
		row.Row.Depth = &depth
		if row.Tasks = fam.tasks[n.row]; row.Task {
			row.Tasks = 0
		}
		p.Rows = append(p.Rows, row)
	}
	if len(l.rows) == 0 {
		p.Sources, err = listSources(r, struct{}{})
	}
	return p, err
}

// placed is a row with its depth below other rows.
type placed struct{ row, depth int }

// nested puts forks below their parents, and leaves out sub-agents whose session is in the list.
func nested(order []int, shown map[int]bool, parents []int, task func(int) bool) []placed {
	children := map[int][]int{}
	var roots []int
	folded := func(i int) bool { return task(i) && parents[i] >= 0 && shown[parents[i]] }
	for _, i := range order {
		switch p := parents[i]; {
		case folded(i):
		case p < 0 || !shown[p] || folded(p):
			roots = append(roots, i)
		default:
			children[p] = append(children[p], i)
		}
	}
	var list []placed
	for _, root := range roots {
		stack := []placed{{root, 0}}
		for len(stack) > 0 {
			at := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			list = append(list, at)
			for _, c := range slices.Backward(children[at.row]) {
				stack = append(stack, placed{c, at.depth + 1})
			}
		}
	}
	return list
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

// fillSearch searches. A query that cannot be read is said on the page.
func (r *request) fillSearch(p *page.SearchPage) error {
	res, _, err := r.found(searchParams{Query: p.Query, Limit: p.Limit})
	var wrong *badRequest
	var long *guard.Refusal
	switch {
	case errors.As(err, &wrong), errors.As(err, &long) && long.Status == http.StatusRequestURITooLong:
		p.Error = err.Error()
		return nil
	case err != nil:
		return err
	}
	l, err := r.listing()
	if err != nil {
		return err
	}
	found := wire.NewSearchResult(res, false)
	p.Matched, p.More = found.Matched, found.More
	for _, h := range found.Hits {
		p.Hits = append(p.Hits, page.Hit{Hit: h, Key: l.keyOf(h.Path)})
	}
	return nil
}

// keyByID gives the key of the session with an id, "" where there is none, or several.
func (l *listing) keyByID(id session.ID) string {
	if i, ok := l.byKey[string(id)]; ok {
		return l.keys[i]
	}
	return ""
}
