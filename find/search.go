package find

import (
	"context"
	"errors"
	"time"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/session"
)

// SearchOptions narrow a search. The zero value looks at everything and gives all there is.
type SearchOptions struct {
	// Regexp, Case and Fields are those of query.Options.
	Regexp, Case bool
	Fields       query.Field
	// Source is the name of a dialect or of a family, or the folder of a source; CWD the working directory of sessions.
	Source, CWD string
	// Since and Until are the first moment that passes and the first that does not. An entry that does not say when it was
	// made has the time of its session.
	Since, Until time.Time
	// Labelled keeps entries that have a label: that one, whatever its case, where Label is set.
	Labelled bool
	Label    string
	// Rank puts the best hits first, not the newest; see rank.
	Rank bool
	// Limit is how many hits are wanted; 0 is all.
	Limit int
	// Problem, if set, is told of what could not be read; Progress is that of bringing the catalogue up to date.
	Problem  func(error)
	Progress func(Progress)
}

// SearchHit is an entry that was found, or a session by its title, or a record of a run.
type SearchHit struct {
	// Session is where the entry is, nil in a run.
	Session *Row
	// Run is where the record is, nil in a session.
	Run *RunRow
	// Entry is its id: "" for the session itself. Line is the line of a record in a run.
	Entry session.EntryID
	Line  int
	Type  string
	Kind  session.Kind
	Role  session.Role
	Time  session.Time
	Label string
	// Shared: other sessions have the id of this one, and only its path tells which is meant.
	Shared bool
	// OnPath: it is on the path to the leaf, not on a branch that was left.
	OnPath bool
	// Field says whose text the snippet is from; Snippet is a piece of it in one line, Marks what matched, in bytes.
	Field   query.Field
	Snippet string
	Marks   [][2]int
	// Score is set where hits were ranked.
	Score float64

	at    time.Time // Time, or that of the session
	found counted
}

// QueryError says why a query is none.
type QueryError struct{ Err error }

// Error implements error.
func (e *QueryError) Error() string { return e.Err.Error() }

// Unwrap gives the reason.
func (e *QueryError) Unwrap() error { return e.Err }

// SearchResult is what was found.
type SearchResult struct {
	Hits []SearchHit
	// Substring: nothing was found as words, and these are what has the words as parts of others.
	Substring bool
	// More: there may be more than Limit.
	More bool
	// Nothing: there is nothing to search, no session and no run.
	Nothing bool
}

// Search finds what a query means: see package index. Hits come from the newest to the oldest, and those of one moment from the
// last in its log to the first; or, ranked, from the best to the worst.
//
// Where nothing is found the plain words of the query are looked for as parts of words.
func (s *Store) Search(ctx context.Context, text string, opt SearchOptions) (*SearchResult, error) {
	q, err := query.Parse(text, query.Options{Regexp: opt.Regexp, Case: opt.Case, Fields: opt.Fields})
	if err != nil {
		return nil, &QueryError{err}
	}
	if err := s.CheckSource(opt.Source); err != nil {
		return nil, err
	}
	f := &finder{s: s, opt: opt}
	defer f.close()
	if err := f.list(ctx); err != nil {
		return nil, err
	}
	queries := []*query.Query{q}
	if sub, ok := q.Substrings(); ok {
		queries = append(queries, sub)
	}
	res := &SearchResult{Nothing: len(f.ids)+len(f.runs) == 0}
	which := 0
	if res.Hits, res.More, which, err = f.find(ctx, queries); err != nil {
		return nil, err
	}
	res.Substring = which > 0 && len(res.Hits) > 0
	if len(f.lost) > 0 { // the next look at the catalogue makes them anew
		s.opt.Index.Put(f.lost...)
		err = s.opt.Index.Commit(context.WithoutCancel(ctx))
	}
	return res, err
}

// passes says whether the time of an entry is one that is asked for.
func (o *SearchOptions) passes(at time.Time) bool {
	return (o.Since.IsZero() || !at.Before(o.Since)) && (o.Until.IsZero() || at.Before(o.Until))
}

// mayPass says whether a session may have entries of a time, and with a label, that is asked for.
func (o *SearchOptions) mayPass(r *Row) bool {
	last := r.Log.Time
	if when := r.When(); when.After(last) {
		last = when
	}
	if !o.Since.IsZero() && last.Before(o.Since) {
		return false
	}
	if o.Labelled && r.Known != nil && r.Known.Has&index.HasLabel == 0 {
		return false
	}
	created, ok := r.Created.Time()
	return o.Until.IsZero() || !ok || created.Before(o.Until)
}

// narrows says whether some sessions are left out, for which rows must be looked at.
func (o *SearchOptions) narrows() bool {
	return o.Source != "" || o.CWD != "" || o.Labelled || !o.Since.IsZero() || !o.Until.IsZero()
}

// list finds the logs that are searched. Rows are made only where something depends on them: of ten thousand sessions a search
// mostly needs those of a few.
func (f *finder) list(ctx context.Context) error {
	list, err := f.s.refresh(ctx, RefreshOptions{Problem: f.opt.Problem, Progress: f.opt.Progress})
	if err != nil {
		return err
	}
	n := 0
	for i := range list {
		n += len(list[i].logs)
	}
	f.ids, f.all = make([]string, 0, n), make([]target, 0, n)
	for i := range list {
		c := &list[i]
		if f.opt.narrows() || !f.s.speaks(c) {
			if err := f.listRows(ctx, c); err != nil {
				return err
			}
			continue
		}
		for k := range c.unread {
			f.ids = append(f.ids, string(c.unread[k].ID))
			f.problem(named(c.unread[k].Path, c.unread[k].Err))
		}
		for k := range c.logs {
			l := &c.logs[k]
			f.ids = append(f.ids, string(l.Summary.ID))
			if !l.Summary.Session && l.Stamp.Size > 0 {
				continue // it is none; see rowOf
			}
			t := target{source: c, kept: l}
			var ok bool
			if t.last, ok = l.Summary.Active.Time(); !ok {
				t.last = f.row(&t).When()
			}
			f.all = append(f.all, t)
		}
	}
	return f.listRuns(ctx)
}

// listRows finds the logs of one source that are searched by their rows.
func (f *finder) listRows(ctx context.Context, c *catalogued) (err error) {
	rows := f.s.appendRows(nil, c)
	for i := range rows {
		f.ids = append(f.ids, string(rows[i].ID))
	}
	if f.opt.Source != "" || f.opt.CWD != "" {
		if rows, err = f.s.Filter(ctx, rows, Filter{Source: f.opt.Source, CWD: f.opt.CWD}); err != nil {
			return err
		}
	}
	for i := range rows {
		r := &rows[i]
		if r.Err != nil && !errors.Is(r.Err, ErrNotSession) {
			f.problem(named(r.Path, r.Err))
		}
		if r.Err != nil || !f.opt.mayPass(r) {
			continue
		}
		t := target{source: c, kept: r.kept, row: r, last: r.When()}
		// The log's own word: a file that was copied or touched is not used by that.
		if at, ok := r.Active.Time(); ok {
			t.last = at
		}
		f.all = append(f.all, t)
	}
	return nil
}

// row gives the row of a session's log.
func (f *finder) row(t *target) *Row {
	if t.row == nil {
		r := f.s.rowOf(t.source, t.kept)
		t.row = &r
	}
	return t.row
}
