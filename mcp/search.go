package mcp

import (
	"errors"
	"fmt"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/wire"
)

type searchArgs struct {
	Query string   `json:"query" need:"" doc:"words that must all occur in one entry, in any order and case; \"a phrase\", parse* for the beginning of a word, *part* for anywhere, -word for without it"`
	In    []string `json:"in" one:"user assistant tool thinking other" doc:"search only these parts of entries; the default is all"`
	scopeArgs
	spanArgs
	Label  string `json:"label" doc:"only entries with this label; * for any label"`
	Regexp bool   `json:"regexp" doc:"the query is a regular expression (RE2)"`
	Rank   bool   `json:"rank" doc:"best match first instead of newest first"`
	pageArgs
}

// searchList is a page of the hits of a search. project is the directory whose sessions were searched, null for all. widened means that the
// current project has no hit, so all projects were searched. matched is "words", "regexp", or "substring" if the words were found only
// inside other words.
type searchList struct {
	About    string     `json:"about"`
	Project  *string    `json:"project"`
	Widened  bool       `json:"widened"`
	Matched  string     `json:"matched"`
	Hits     []wire.Hit `json:"hits"`
	Next     *string    `json:"next"`
	Problems []string   `json:"problems"`
}

func (a searchArgs) options(c *call) (opt find.Options, err error) {
	opt = find.Options{Regexp: a.Regexp, Source: a.Agent, Rank: a.Rank, Labelled: a.Label != "", Label: a.Label, Rewrite: c.rewrite()}
	if a.Label == "*" {
		opt.Label = ""
	}
	for _, word := range a.In {
		field, _ := query.ParseField(word) // the tag of the argument allows only these words
		opt.Fields |= field
	}
	opt.Since, opt.Until, err = a.parse(c.opt.Clock())
	return opt, err
}

// rewrite returns a function that replaces secrets in records before they are searched: no query can find one, and no snippet shows a part
// of one.
func (c *call) rewrite() func([]byte) []byte {
	if c.plain == nil {
		return nil
	}
	return func(record []byte) []byte {
		clean, _ := c.plain.Record(record)
		return clean
	}
}

func searchSessions(c *call, a searchArgs) (result searchList, err error) {
	result = searchList{About: about, Hits: []wire.Hit{}, Problems: []string{}}
	space, n, err := a.bounds()
	if err != nil {
		return result, err
	}
	opt, err := a.options(c)
	if err != nil {
		return result, err
	}
	opt.Problem = c.tell(&result.Problems)
	at, err := begin(a.Cursor, digest("search", append(a.In, a.Query, a.Project, a.Agent, a.Since, a.Until, a.Label, fmt.Sprint(a.Regexp, a.Rank))...))
	if err != nil {
		return result, err
	}
	found, err := c.search(a.Query, opt, &at, a.scopeArgs, a.Cursor == "", n)
	if err != nil {
		return result, err
	}
	if result.Widened = at.Wide; at.Dir != "" {
		result.Project = &at.Dir
	}
	all := wire.NewSearchResult(found, a.Regexp)
	result.Matched = all.Matched
	for i := range all.Hits {
		j := c.hit(all.Hits[i])
		ok, err := space.take(j)
		if err != nil {
			return result, err
		}
		if !ok {
			break
		}
		result.Hits = append(result.Hits, j)
	}
	c.searches.gave(&at, found.Hits[:len(result.Hits)])
	if len(result.Hits) < len(all.Hits) || all.More {
		result.Next = at.cursor()
	}
	return result, nil
}

// search returns n hits after a position. The first page decides what the others search: the current project or, if that has no hit, all
// projects (at.Wide), and nothing that is written later. Hits that the client already has are left out.
func (c *call) search(text string, opt find.Options, at *position, scope scopeArgs, first bool, n int) (found *treeline.SearchResult, err error) {
	if first {
		if at.Dir, err = c.dir(scope); err != nil {
			return nil, err
		}
	}
	if until := time.UnixMilli(at.Until); !first && (opt.Until.IsZero() || until.Before(opt.Until)) {
		opt.Until = until
	}
	opt.Limit = at.N + n
	for {
		opt.CWD = at.Dir
		res, err := c.store.Search(c.ctx, text, opt)
		var invalid *find.QueryError
		switch {
		case errors.As(err, &invalid):
			return nil, refuse("the query is invalid: %v. Words are searched as they are; put \"quotes\" around a phrase, or set regexp for a regular expression", invalid)
		case err != nil:
			return nil, err
		case len(res.Hits) == 0 && first && scope.Project == "" && at.Dir != "":
			at.Dir, at.Wide = "", true
			continue
		}
		if first {
			at.Until = c.end(res).UnixMilli()
		}
		res.Hits = c.searches.rest(at, res.Hits)
		if len(res.Hits) > n {
			res.Hits, res.More = res.Hits[:n], true
		}
		return res, nil
	}
}

// end returns a time after all hits.
func (c *call) end(res *treeline.SearchResult) time.Time {
	last := c.opt.Clock()
	for i := range res.Hits {
		if at, ok := res.Hits[i].Time.Time(); ok && at.After(last) {
			last = at
		}
		if r := res.Hits[i].Session; r != nil && r.When().After(last) {
			last = r.When()
		}
	}
	return last.Add(time.Millisecond)
}

// hit is a hit as a result shows it.
func (c *call) hit(j wire.Hit) wire.Hit {
	j.Title, j.Label = c.line(j.Title, titleWidth), c.line(j.Label, titleWidth)
	j.Path, j.CWD, j.Ref, j.Run = c.where(j.Path), c.where(j.CWD), name(j.Ref), name(j.Run)
	j.Session, j.Entry, j.Type, j.Role = maybe(j.Session), maybe(j.Entry), name(j.Type), maybe(j.Role)
	return j
}
