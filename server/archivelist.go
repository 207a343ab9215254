package server

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/page"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/server/view"
	"github.com/treeline-dev/treeline/wire"
)

// Lists of an archive with an index of its own: the database makes the page, and no other sessions are read. See view.Archive.

// askArchive returns a page of the sessions that pass a filter.
func (r *request) askArchive(p filterParams, opt treeline.PageOptions, below bool) (part view.Part, err error) {
	f, err := p.filter(r.s.opt.Clock())
	if err != nil {
		return part, err
	}
	if err := r.checkSource(p.Source); err != nil {
		return part, err
	}
	part, err = r.archive().Page(r.Context(), f, opt, below)
	if errors.Is(err, find.ErrCursor) {
		err = badCursor()
	}
	return part, err
}

// archivePage is listSessions for an archive.
func (r *request) archivePage(p listParams, n int) (page sessionPage, err error) {
	part, err := r.askArchive(p.filterParams, treeline.PageOptions{Limit: n, After: p.Cursor}, false)
	if err != nil {
		return page, err
	}
	if r.unchanged(fmt.Sprintf("%s-%d-%t", r.s.listTag(part.List, r), part.Total, part.Next != "")) {
		return page, errNotModified
	}
	page = sessionPage{Sessions: make([]sessionRow, len(part.Page)), Problems: append([]string{}, part.Problems...)}
	if part.Next != "" {
		page.Next = &part.Next
	}
	if part.Total >= 0 {
		page.Total = &part.Total
	}
	for i := range part.Page {
		page.Sessions[i] = sessionRow{part.KeyOf(part.Page[i].Path), wire.NewRow(&part.Page[i])}
	}
	return page, nil
}

// showArchive is sessionsPage for an archive. A fork is shown below its parent if both are on the page. The usage of all sessions is not
// summed up.
func (r *request) showArchive(q page.ListQuery, event string) error {
	limit := min(cmp.Or(q.Limit, listMost), mostListed)
	part, err := r.askArchive(filterOf(q), treeline.PageOptions{Limit: limit, Order: place.Order(q.Sort)}, true)
	if err != nil {
		return err
	}
	return r.html(func(b *bytes.Buffer) error {
		p := page.SessionsPage{Query: q, Total: page.Uncounted, Matched: part.Total, Problems: part.Problems}
		p.Full = part.Next != "" && limit == mostListed
		shown, order := map[int]bool{}, make([]int, len(part.Page))
		for i := range part.Page {
			order[i] = part.ByPath[part.Page[i].Path]
			shown[order[i]] = true
		}
		fam := part.FamilyOf()
		list := view.Nested(order, shown, fam.Parents, func(i int) bool { return part.Rows[i].IsTask() })
		p.Rows = r.rowsOf(part.List, list)
		switch {
		case part.Next == "":
			p.Matched = len(list)
		case part.Total >= 0:
			p.Matched = part.Total - (len(part.Page) - len(list)) // sub-agents on the page do not count
		}
		if !p.Narrowed() {
			p.Total = p.Matched
		}
		if err := r.choices(&p, fam); err != nil {
			return err
		}
		p.Events = r.s.base + apiPath + "/events?after=" + event
		return r.s.site.Sessions(b, p)
	})
}

// choicesMost is the largest number of values that a filter of an archive offers.
const choicesMost = 40

// choices fills in the choices of a page's filters: the directories and models of the archive, without counts, and the agents on the page.
// A limited client is offered only the models on the page.
func (r *request) choices(p *page.SessionsPage, fam *view.Family) error {
	p.Agents, p.Models = fam.Agents, fam.Models
	dirs, err := r.s.store.Projects(r.Context())
	if err != nil {
		return fmt.Errorf("projects: %w", err)
	}
	for _, dir := range dirs {
		if dir != "" && r.grant.Allows(dir) && len(p.Projects) < choicesMost {
			p.Projects = append(p.Projects, page.Choice{Value: dir})
		}
	}
	if !r.grant.Limited() {
		p.Models = nil
		for _, model := range r.s.store.Models() {
			p.Models = append(p.Models, page.Choice{Value: model})
		}
		p.Models = p.Models[:min(len(p.Models), choicesMost)]
	}
	for i := range p.Agents {
		p.Agents[i].Count = 0 // the count covers only this page
	}
	return nil
}
