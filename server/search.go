package server

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/server/guard"
	"github.com/treeline-dev/treeline/server/view"
	"github.com/treeline-dev/treeline/wire"
)

type searchParams struct {
	Query  string   `query:"q" json:"-" need:"" doc:"words that must all occur in one entry; \"a phrase\", head*, *head*, -word"`
	In     []string `query:"in" json:"-" doc:"a part of entries: user, assistant, tool, thinking or other; it may be repeated, the default is all"`
	Regexp bool     `query:"regexp" json:"-" doc:"the query is a regular expression (RE2)"`
	Case   bool     `query:"case" json:"-" doc:"distinguishes upper and lower case"`
	Source string   `query:"source" json:"-" doc:"the name of a dialect, or the folder of a source"`
	CWD    string   `query:"cwd" json:"-" doc:"only sessions of that directory"`
	spanParams
	Label string `query:"label" json:"-" doc:"only entries with that label, in any case; * for any label"`
	Rank  bool   `query:"rank" json:"-" doc:"best match first instead of newest first"`
	Limit int    `query:"limit" json:"-" doc:"how many hits; the default is 20, the most 1000"`
}

// wordsMost is the largest length of a query in bytes.
const wordsMost = 1 << 10

// options checks the parameters, and converts them.
func (p *searchParams) options(now time.Time) (opt find.Options, err error) {
	opt = find.Options{
		Regexp: p.Regexp, Case: p.Case, Source: p.Source, CWD: p.CWD, Rank: p.Rank, Labelled: p.Label != "", Label: p.Label,
		Limit: cmp.Or(p.Limit, 20),
	}
	if p.Label == "*" {
		opt.Label = ""
	}
	for _, word := range p.In {
		field, ok := query.ParseField(word)
		if !ok {
			return opt, bad("the parameter \"in\" must be user, assistant, tool, thinking or other, not %q", word)
		}
		opt.Fields |= field
	}
	switch {
	case len(p.Query) > wordsMost:
		return opt, guard.Refuse(414, "the query is longer than %d bytes", wordsMost)
	case opt.Limit > 1000:
		return opt, bad("the parameter \"limit\" must be a number from 1 to 1000, not %d", opt.Limit)
	}
	opt.Since, opt.Until, err = p.parse(now)
	return opt, err
}

// found searches. problems say what could not be read.
func (r *request) found(p searchParams) (res *find.Result, problems []string, err error) {
	opt, err := p.options(r.s.opt.Clock())
	if err != nil {
		return nil, nil, err
	}
	var mu sync.Mutex
	problems = []string{}
	opt.Problem = func(err error) {
		mu.Lock()
		defer mu.Unlock()
		problems = append(problems, err.Error())
	}
	opt.Open = r.s.docs.lend
	if r.grant.Limited() {
		if err = r.checkSource(p.Source); err != nil {
			return nil, nil, err
		}
		opt.Project, opt.Problem = r.grant.Allows, nil // a log that cannot be read has no known project
	}
	res, err = r.s.store.Search(r.Context(), p.Query, opt)
	var invalid *find.QueryError
	if errors.As(err, &invalid) || errors.Is(err, place.ErrUnknownSource) {
		err = bad("%v", err)
	}
	if err == nil && r.grant.Limited() {
		var l *view.List
		if l, err = r.listOf(keysOf(res)); err == nil {
			res.Hits = slices.DeleteFunc(res.Hits, func(h find.Hit) bool { return h.Session != nil && l.KeyOf(h.Session.Path) == "" })
		}
	}
	return res, problems, err
}

// keysOf returns the keys of the sessions of hits.
func keysOf(res *find.Result) (k find.Keys) {
	for i := range res.Hits {
		if row := res.Hits[i].Session; row != nil && (len(k.Paths) == 0 || k.Paths[len(k.Paths)-1] != row.Path) {
			k.Paths = append(k.Paths, row.Path)
		}
	}
	return k
}

func search(r *request, p searchParams) (searchResult, error) {
	res, problems, err := r.found(p)
	if err != nil {
		return searchResult{}, err
	}
	return searchResult{wire.NewSearchResult(res, p.Regexp), problems}, nil
}
