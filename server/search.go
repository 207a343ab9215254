package server

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/server/guard"
	"github.com/treeline-dev/treeline/server/view"
	"github.com/treeline-dev/treeline/usage"
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

// wordsMost is how long a query may be.
const wordsMost = 1 << 10

// options checks the parameters.
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

// found searches and says what could not be read.
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
		opt.Project, opt.Problem = r.grant.Allows, nil // what cannot be read belongs to no project
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

// keysOf names the sessions of hits.
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

type usageParams struct {
	By     []string `query:"by" json:"-" doc:"a list of the result: agent, model, project or day; it may be repeated, the default is all"`
	Source string   `query:"source" json:"-" doc:"the name of a dialect, or the folder of a source"`
	CWD    string   `query:"cwd" json:"-" doc:"only sessions of that directory"`
	spanParams
	Model string `query:"model" json:"-" doc:"a part of the name of a model that answered, or a pattern with * and ?"`
}

// used sums up what the sessions of a list used.
func (r *request) used(l *view.List, p usageParams) (sum usage.Report, err error) {
	opt := usage.Options{Model: p.Model}
	for _, word := range p.By {
		if !slices.Contains(usage.Keys, usage.Key(word)) {
			return sum, bad("the parameter \"by\" must be agent, model, project or day, not %q", word)
		}
		opt.By = append(opt.By, usage.Key(word))
	}
	if err := r.checkSource(p.Source); err != nil {
		return sum, err
	}
	if opt.Since, opt.Until, err = p.parse(r.s.opt.Clock()); err != nil {
		return sum, err
	}
	// A session may have messages on both sides of a moment: times choose messages, not sessions.
	narrow := treeline.Filter{Source: p.Source, CWD: p.CWD, Model: p.Model}
	rows, err := r.s.store.Filter(r.Context(), slices.Clone(l.Rows), narrow)
	if err != nil {
		return sum, err
	}
	return usage.Look(l.Rows).Sum(rows, opt), nil
}

func getUsage(r *request, p usageParams) (stats wire.Stats, err error) {
	l, err := r.listing()
	if err != nil {
		return stats, err
	}
	if r.unchanged(r.s.listTag(l, r)) {
		return stats, errNotModified
	}
	sum, err := r.used(l, p)
	return wire.NewStats(sum), err
}
