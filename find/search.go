package find

import (
	"cmp"
	"context"
	"math"
	"runtime"
	"sync"
	"time"

	"github.com/treeline-dev/treeline/find/rank"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/internal/sorting"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

// Options narrow a search. The zero value searches everything and returns all hits.
type Options struct {
	// Regexp, Case and Fields are those of query.Options.
	Regexp, Case bool
	Fields       query.Field
	// Source is the name of a dialect or of a family, or the folder of a source; CWD is the working directory of sessions.
	Source, CWD string
	// Project, if set, reports whether the sessions and runs of a working directory exist for the caller. Others are left out, and nothing
	// in the result depends on them. It is called with "" for those without a directory.
	Project func(cwd string) bool
	// Since is the first moment that passes, Until the first that does not. An entry without a time has its session's.
	Since, Until time.Time
	// Labelled keeps only entries with a label. If Label is set, the label must be equal to it; case does not count.
	Labelled bool
	Label    string
	// Rewrite, if set, changes a record, or the text of a title, before it is searched: what it removes is neither found nor shown in a
	// snippet. The record must stay decodable. It may be called by several goroutines at once.
	Rewrite func(record []byte) []byte
	// Rank puts the best hits first instead of the newest.
	Rank bool
	// Limit is how many hits are wanted; 0 is all.
	Limit int
	// Problem, if set, is called with errors of reading. Progress, if set, is called with the progress of the reading for the catalogue.
	Problem  func(error)
	Progress func(Progress)
	// Open, if set, returns a log that the caller has read already, at least as far as the list shows it. done ends its use. If the log is
	// nil, the search reads it. It may be called by several goroutines at once.
	Open func(ctx context.Context, row *place.Row) (log *logtree.Log, done func())
}

// Hit is an entry that was found, a session found by its title, or a record of a run.
type Hit struct {
	// Session is where the entry is; nil in a run.
	Session *place.Row
	// Run is where the record is; nil in a session.
	Run *Run
	// Entry is the id of the entry; "" for the session itself. Line is the line of a record in a run.
	Entry session.EntryID
	Line  int
	Type  string
	Kind  session.Kind
	Role  session.Role
	Time  session.Time
	Label string
	// Shared: other sessions have the same id, so that only the path identifies this one.
	Shared bool
	// OnPath: the entry is on the path to the leaf, not on an abandoned branch.
	OnPath bool
	// Field tells whose text the snippet is from. Snippet is a piece of it in one line; Marks are the bytes that matched.
	Field   query.Field
	Snippet string
	Marks   [][2]int
	// Score is set if hits are ranked.
	Score float64

	at    time.Time // Time, or that of the session
	found rank.Entry
}

// QueryError is the error for an invalid query.
type QueryError struct{ Err error }

// Error implements error.
func (e *QueryError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *QueryError) Unwrap() error { return e.Err }

// Result is what a search found.
type Result struct {
	Hits []Hit
	// Substring: there are no whole-word matches; Hits are substring matches.
	Substring bool
	// More: there may be more hits than Limit.
	More bool
	// Nothing: there are neither sessions nor runs to search.
	Nothing bool
}

// Search finds the entries that a query means; see package query. Hits are ordered from the newest to the oldest, those of the same time
// from the last in the log to the first; or, ranked, from the best to the worst.
//
// If no words match, the plain words of the query are searched as substrings.
func (f *Finder) Search(ctx context.Context, text string, opt Options) (*Result, error) {
	q, err := query.Parse(text, query.Options{Regexp: opt.Regexp, Case: opt.Case, Fields: opt.Fields})
	if err != nil {
		return nil, &QueryError{err}
	}
	if err := f.m.CheckSource(opt.Source); err != nil {
		return nil, err
	}
	s := &search{f: f, opt: opt}
	queries := []*query.Query{q}
	if sub, ok := q.Substrings(); ok {
		queries = append(queries, sub)
	}
	if beside, err := f.fresh(ctx, RefreshOptions{Problem: opt.Problem, Progress: opt.Progress}); err != nil {
		return nil, err
	} else if beside {
		return s.shared(ctx, queries)
	}
	if err := s.list(ctx); err != nil {
		return nil, err
	}
	res := &Result{Nothing: len(s.ids) == 0 && (len(s.runs) == 0 || opt.Project != nil)} // the projects of the runs are not known yet
	which := 0
	if res.Hits, res.More, which, err = s.find(ctx, queries); err != nil {
		return nil, err
	}
	res.Substring = which > 0 && len(res.Hits) > 0
	if len(s.lost) > 0 { // the next refresh makes their signatures again
		f.ix.Put(s.lost...)
		err = f.ix.Commit(context.WithoutCancel(ctx))
	}
	return res, err
}

// search is one search.
type search struct {
	f   *Finder
	opt Options
	// all are the logs of sessions; list fills them and runs.
	all  []target
	runs []Run
	ids  []string // ids of all sessions, also of those that are not searched
	// changed: the index was updated with runs after the sessions were listed.
	changed bool
	terms   rank.Terms
	// lost are logs whose signatures are damaged, by source.
	lost []index.Update

	mu   sync.Mutex // guards calls of opt.Problem
	huge sync.Mutex // held while a huge record is searched
}

// batch is how many logs are searched first; each further batch is eight times as large. Common words are found in the newest logs, and
// then the signatures of the others are not needed.
const batch = 16

// find searches with the first query and, if nothing is found, with the second. more: limit exceeded; which: index of
// the matching query.
func (s *search) find(ctx context.Context, queries []*query.Query) (hits []Hit, more bool, which int, err error) {
	for i := range s.runs {
		s.all = append(s.all, target{run: &s.runs[i], last: s.runs[i].Log.Time})
	}
	all := newest(s.all)
	limit, size := s.opt.Limit, batch
	if s.opt.Rank || limit <= 0 {
		// Scores can be computed only when all hits are known.
		limit, size = math.MaxInt, len(all)
	}
	s.terms.With = make([]int, queries[0].Terms())
	rest := make([][]target, len(queries))
	for len(all) > 0 && !enough(hits, limit, all[0].last) {
		n := min(size, len(all))
		lists := s.candidates(queries, all[:n])
		if hits, err = s.walk(ctx, queries[0], lists[0], limit, hits); err != nil {
			return nil, false, 0, err
		}
		// For the second query, which must search all logs if the first finds nothing.
		for k := range queries {
			rest[k] = append(rest[k], lists[k]...)
		}
		all, size = all[n:], 8*size
	}
	if len(hits) == 0 && len(queries) > 1 {
		which = 1
		if hits, err = s.walk(ctx, queries[1], rest[1], limit, nil); err != nil {
			return nil, false, 0, err
		}
	}
	hits, more = s.order(hits)
	s.shorten(hits)
	return hits, more, which, nil
}

// order sorts hits and keeps as many as are wanted.
func (s *search) order(hits []Hit) (list []Hit, more bool) {
	// Logs were searched in the order of their last use; the hits of one may be older than those of the next.
	sorting.By(hits, func(a, b Hit) int { return b.at.Compare(a.at) })
	if s.opt.Rank {
		weights := s.terms.Weights()
		for i := range hits {
			hits[i].Score = hits[i].found.Score(weights)
		}
		sorting.By(hits, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) })
	}
	if n := s.opt.Limit; n > 0 && len(hits) > n {
		hits, more = hits[:n], true
	}
	return hits, more
}

// shorten fills in the short ids of the sessions of hits, and marks sessions whose id another session has.
func (s *search) shorten(hits []Hit) {
	shared := place.ShortenSome(rowsOf(hits), s.ids)
	for i := range hits {
		if r := hits[i].Session; r != nil {
			hits[i].Shared = shared[r]
		}
	}
}

// rowsOf returns the sessions of hits. Hits of one session usually follow one another.
func rowsOf(hits []Hit) (rows []*place.Row) {
	for i := range hits {
		if r := hits[i].Session; r != nil && (len(rows) == 0 || rows[len(rows)-1] != r) {
			rows = append(rows, r)
		}
	}
	return rows
}

// enough reports whether more hits than wanted are so new that a log that was last used at that time cannot have newer ones.
func enough(hits []Hit, limit int, last time.Time) bool {
	if len(hits) <= limit {
		return false
	}
	n := 0
	for i := range hits {
		if !hits[i].at.Before(last) {
			n++
		}
	}
	return n > limit
}

// walk searches logs, several at a time, and adds to the hits in the order of the targets. It ends when there are more
// hits than wanted and the logs that are left cannot have newer ones.
func (s *search) walk(ctx context.Context, q *query.Query, targets []target, limit int, hits []Hit) ([]Hit, error) {
	var (
		mu      sync.Mutex
		next    int // the first target that no worker has taken
		head    int // the first target whose hits are not in the list
		results = map[int][]Hit{}
		failed  error
		wg      sync.WaitGroup
	)
	take := func() int {
		mu.Lock()
		defer mu.Unlock()
		// The newest come first: if this one cannot have newer hits, none after it can.
		if failed != nil || next == len(targets) || enough(hits, limit, targets[next].last) {
			return -1
		}
		next++
		return next - 1
	}
	give := func(i int, found []Hit, err error) {
		mu.Lock()
		defer mu.Unlock()
		if err != nil && failed == nil {
			failed = err
		}
		results[i] = found
		// In the order of the targets, so that the same search gives the same hits with any number of workers.
		for head < next {
			found, ok := results[head]
			if !ok {
				break
			}
			hits = append(hits, found...)
			delete(results, head)
			head++
		}
	}
	for range min(s.workers(), len(targets)) {
		wg.Go(func() {
			m := matcher{s: s, q: q}
			for {
				i := take()
				if i < 0 {
					return
				}
				found, err := m.search(ctx, &targets[i], limit)
				if err != nil && ctx.Err() == nil {
					// A log that cannot be read does not hide other logs.
					s.problem(logtree.Named(targets[i].path(), err))
					err = nil
				}
				give(i, found, err)
			}
		})
	}
	wg.Wait()
	return hits, failed
}

// workers returns how many logs are searched at once. A database answers several requests as fast as one.
func (s *search) workers() int {
	if s.f.beside() {
		return max(8, runtime.GOMAXPROCS(0))
	}
	return runtime.GOMAXPROCS(0)
}

func (s *search) problem(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opt.Problem != nil {
		s.opt.Problem(err)
	}
}
