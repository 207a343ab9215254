package rpc

import (
	"errors"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/wire"
)

// catalogueParams are filters; a session must pass all that are given.
type catalogueParams struct {
	Source string `json:"source" doc:"the name of a dialect, or the folder of a source"`
	CWD    string `json:"cwd" doc:"only sessions of that directory"`
	spanParams
	Model  string   `json:"model" doc:"a part of the name of a model that answered, or a pattern with * and ?"`
	Title  string   `json:"title" doc:"a pattern with * and ? for the title or, without one, the first prompt"`
	Has    []string `json:"has" doc:"all of these must occur: label, branch, compaction, problem, blob, run"`
	Limit  *int     `json:"limit" doc:"the maximum number of rows, up to 1000; the default is 100"`
	Cursor string   `json:"cursor" doc:"next of the previous page"`
}

// page is a page of the catalogue. Total counts the rows of all pages. Problems say what could not be read.
type page struct {
	Rows     []wire.Row `json:"rows"`
	Next     *string    `json:"next"`
	Total    int        `json:"total"`
	Problems []string   `json:"problems"`
}

// catalogue brings the catalogue up to date, which reads only logs that changed, and returns a page of it.
func catalogue(c *call, p catalogueParams) (page, error) {
	none := page{Rows: []wire.Row{}, Problems: []string{}}
	n, err := limit(p.Limit, 100)
	if err != nil {
		return none, err
	}
	filter, err := p.filter()
	if err != nil {
		return none, err
	}
	if err := c.store.CheckSource(p.Source); err != nil {
		return none, badParams("%v", err)
	}
	result := none
	if c.store.Paged() {
		return result.ask(c, filter, n, p.Cursor)
	}
	rows, err := c.store.Catalogue(c.outer, find.RefreshOptions{Problem: func(err error) { result.Problems = append(result.Problems, err.Error()) }})
	if err == nil {
		rows, err = c.store.Filter(c.outer, rows, filter)
	}
	if err != nil {
		return none, err
	}
	rows = place.Drop(rows, func(r *place.Row) bool {
		if r.Err != nil {
			result.Problems = append(result.Problems, r.Path+": "+r.Err.Error())
		}
		return r.Err != nil
	})
	result.Total = len(rows)
	part, next, err := pageOf(rows, wire.RowCursor, n, p.Cursor)
	if err != nil {
		return none, err
	}
	for _, r := range part {
		result.Rows = append(result.Rows, wire.NewRow(r))
	}
	result.Next = next
	return result, nil
}

// ask lets the index of an archive make the page.
func (p page) ask(c *call, filter treeline.Filter, n int, cursor string) (page, error) {
	opt := treeline.PageOptions{Limit: n, After: cursor, Total: true}
	opt.Problem = func(err error) { p.Problems = append(p.Problems, err.Error()) }
	found, err := c.store.Page(c.outer, filter, opt)
	switch {
	case errors.Is(err, find.ErrCursor):
		return p, badParams(`parameter "cursor": it is not one that a page gave`)
	case err != nil:
		return p, err
	}
	p.Total = found.Total
	for i := range found.Rows {
		p.Rows = append(p.Rows, wire.NewRow(&found.Rows[i]))
	}
	if found.Next != "" {
		p.Next = &found.Next
	}
	return p, nil
}

func (p *catalogueParams) filter() (f treeline.Filter, err error) {
	f = treeline.Filter{Source: p.Source, Model: p.Model, Title: p.Title}
	for _, word := range p.Has {
		h, ok := index.ParseHas(word)
		switch {
		case word == "run":
			f.Run = true
		case !ok:
			return f, badParams(`parameter "has": label, branch, compaction, problem, blob or run, not %q`, word)
		}
		f.Has |= h
	}
	if f.CWD, err = directory(p.CWD); err != nil {
		return f, err
	}
	f.Since, f.Until, err = p.parse()
	return f, err
}

type searchParams struct {
	Query  *string  `json:"query" need:"" doc:"words that must all occur in one entry; \"a phrase\", head*, *head*, -word"`
	In     []string `json:"in" doc:"the parts of entries: user, assistant, tool, thinking, other; the default is all"`
	Regexp bool     `json:"regexp" doc:"the query is a regular expression (RE2)"`
	Case   bool     `json:"case" doc:"distinguishes upper and lower case"`
	Source string   `json:"source" doc:"the name of a dialect, or the folder of a source"`
	CWD    string   `json:"cwd" doc:"only sessions of that directory"`
	spanParams
	Label string `json:"label" doc:"only entries with that label, in any case; * for any label"`
	Rank  bool   `json:"rank" doc:"best match first instead of newest first"`
	Limit *int   `json:"limit" doc:"the maximum number of hits, up to 1000; the default is 20"`
}

// searchResult is the answer to a search. Problems say what could not be read.
type searchResult struct {
	wire.SearchResult
	Problems []string `json:"problems"`
}

// search searches all sessions and runs. Like catalogue, it first reads the logs that changed.
func search(c *call, p searchParams) (searchResult, error) {
	result := searchResult{Problems: []string{}}
	opt := find.Options{
		Regexp: p.Regexp, Case: p.Case, Source: p.Source, Rank: p.Rank, Labelled: p.Label != "", Label: p.Label,
		Problem: func(err error) { result.Problems = append(result.Problems, err.Error()) },
	}
	if p.Label == "*" {
		opt.Label = ""
	}
	for _, word := range p.In {
		field, ok := query.ParseField(word)
		if !ok {
			return result, badParams(`parameter "in": user, assistant, tool, thinking or other, not %q`, word)
		}
		opt.Fields |= field
	}
	var err error
	if opt.Limit, err = limit(p.Limit, 20); err != nil {
		return result, err
	}
	if opt.CWD, err = directory(p.CWD); err != nil {
		return result, err
	}
	if opt.Since, opt.Until, err = p.parse(); err != nil {
		return result, err
	}
	found, err := c.store.Search(c.outer, *p.Query, opt)
	var invalid *find.QueryError
	switch {
	case errors.As(err, &invalid), errors.Is(err, place.ErrUnknownSource):
		return result, badParams("%v", err)
	case err != nil:
		return result, err
	}
	result.SearchResult = wire.NewSearchResult(found, p.Regexp)
	return result, nil
}

// sources lists the places of sessions, even empty ones, and those of agents that cannot be read yet.
func sources(c *call, _ struct{}) ([]wire.Source, error) {
	list, err := c.store.LookAtSources(c.outer)
	rows := make([]wire.Source, 0, len(list))
	for _, s := range list {
		rows = append(rows, wire.NewSource(s))
	}
	for _, a := range c.store.Unread() {
		rows = append(rows, wire.NewUnread(a))
	}
	return rows, err
}
