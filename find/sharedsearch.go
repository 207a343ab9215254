package find

import (
	"context"
	"math"
	"time"

	"github.com/treeline-dev/treeline/find/rank"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
)

// shared is Search on a shared index: the database finds the chunks that may match.
func (s *search) shared(ctx context.Context, queries []*query.Query) (*Result, error) {
	f := s.f
	sel, _, err := f.selection(ctx, place.Filter{Source: s.opt.Source, CWD: s.opt.CWD, Project: s.opt.Project})
	if err != nil {
		return nil, err
	}
	if !s.opt.Since.IsZero() {
		sel.Latest = nanos(s.opt.Since)
	}
	if !s.opt.Until.IsZero() {
		sel.MadeBefore = nanos(s.opt.Until)
	}
	if s.opt.Labelled {
		sel.Has = index.HasLabel
	}
	res := &Result{}
	for i, q := range queries {
		hits, err := s.sharedHits(ctx, sel, q)
		if err != nil {
			return nil, err
		}
		if len(hits) > 0 {
			res.Substring = i > 0
			res.Hits, res.More = s.order(hits)
			break
		}
	}
	if len(res.Hits) == 0 {
		if s.opt.Project == nil { // otherwise the result must not depend on what the caller may not see
			res.Nothing, err = f.nothing(ctx)
		}
		return res, err
	}
	rows, all := rowsOf(res.Hits), false
	if s.ids, all, err = f.similar(ctx, rows, s.opt.Project); err != nil {
		return nil, err
	}
	if s.shorten(res.Hits); !all {
		unshorten(rows)
	}
	return res, nil
}

// nothing reports whether the archive has neither sessions nor runs.
func (f *Finder) nothing(ctx context.Context) (bool, error) {
	for _, runs := range []bool{false, true} {
		list, err := f.shared.Select(ctx, index.Selection{Below: f.m.ArchiveFolder(), Runs: runs, Limit: 1})
		if err != nil || len(list) > 0 {
			return false, err
		}
	}
	return true, nil
}

// windowFirst is how many logs are searched for the first answer to a frequent query; each further window is four times as large, up to
// windowMost.
const (
	windowFirst = 64
	windowMost  = 4096
)

// sharedHits searches sessions, and then runs, with one query.
func (s *search) sharedHits(ctx context.Context, sel index.Selection, q *query.Query) (hits []Hit, err error) {
	limit := s.opt.Limit
	if s.opt.Rank || limit <= 0 {
		limit = math.MaxInt // scores can be computed only when all hits are known
	}
	switch {
	case s.opt.Rank && s.opt.Project != nil:
		s.terms = rank.Terms{With: make([]int, q.Terms())} // how common a term is elsewhere is not for the caller: all terms weigh the same
	case s.opt.Rank:
		counts, err := s.f.shared.Count(ctx, sel, q)
		if err != nil {
			return nil, err
		}
		s.terms = rank.Terms{Chunks: counts.Chunks, With: counts.With}
	}
	for _, runs := range []bool{false, true} {
		if runs && s.opt.Labelled {
			break // runs have no labels
		}
		sel := sel
		sel.Runs, sel.Sessions, sel.Limit = runs, !runs, windowFirst
		if runs {
			sel.Dialects = nil // sources decide
		}
		for {
			list, next, err := s.f.shared.Search(ctx, sel, q)
			if err != nil {
				return nil, err
			}
			targets, err := s.sharedTargets(list)
			if err != nil {
				return nil, err
			}
			if hits, err = s.walk(ctx, q, targets, limit, hits); err != nil {
				return nil, err
			}
			if next == nil {
				break
			}
			if used, ok := next.Key.(int64); ok && enough(hits, limit, time.Unix(0, used)) {
				break
			}
			sel.After, sel.Limit = next, min(4*sel.Limit, windowMost)
		}
	}
	return hits, nil
}

// sharedTargets makes targets of the logs that may match and are wanted.
func (s *search) sharedTargets(list []index.Found) (targets []target, err error) {
	for i := range list {
		l := &list[i]
		t := target{last: time.Unix(0, l.Facts.Used)}
		for _, c := range l.Spans {
			t.spans = append(t.spans, span{c.From, c.To, c.Odd})
		}
		if l.Facts.Run {
			if s.sharedRun(&t, l) {
				targets = append(targets, t)
			}
			continue
		}
		r, ok := s.f.sharedRow(l)
		if !ok || s.opt.Project != nil && !s.opt.Project(r.CWD) {
			continue
		}
		rows, err := s.f.m.Filter([]place.Row{r}, place.Filter{Source: s.opt.Source, CWD: s.opt.CWD})
		if err != nil {
			return nil, err
		}
		if len(rows) == 1 && rows[0].Err == nil && s.opt.mayPass(&rows[0]) {
			t.row = &rows[0]
			targets = append(targets, t)
		}
	}
	return targets, nil
}

// sharedRun makes a target of a run. It returns false if its source is not wanted or cannot be read.
func (s *search) sharedRun(t *target, l *index.Found) bool {
	src, ok := s.f.m.ArchivedSource(l.Source)
	if !ok || !s.runsOf(&src) {
		return false
	}
	b, err := s.f.m.Open(src.Root.Sessions)
	if err != nil {
		s.problem(logtree.Named(src.PathOf(l.Name), err))
		return false
	}
	t.run = &Run{Location: place.Location{Backend: b, Name: l.Name, Path: src.PathOf(l.Name)}, Log: logOf(&l.Log), source: &src}
	return true
}
