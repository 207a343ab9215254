package store

import (
	"cmp"
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/session"
)

// finder is one search.
type finder struct {
	s    *Store
	opt  SearchOptions
	rows []Row
	// rows and runs are filled by list, before find.
	runs []RunRow
	ids  []session.ID // of all sessions, also of those that are not searched
	// changed: the index knows more of runs than before.
	changed bool
	// pieces is how many pieces the logs have, with how many of them may have each term. They are counted for ranks alone.
	pieces int
	with   []int
	// lost are logs whose signatures are damaged, by source.
	lost []index.Update

	// mu guards roots, and calls of opt.Problem: workers share both.
	mu    sync.Mutex
	roots map[string]backend.Backend // folders that were opened
	huge  sync.Mutex                 // held by who looks at a huge record
}

func (f *finder) close() {
	for _, b := range f.roots {
		b.Close()
	}
}

// backend gives the logs of a source. It stays open until the search ends: many logs lie in one folder.
func (f *finder) backend(dir string) (backend.Backend, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if b, ok := f.roots[dir]; ok {
		return b, nil
	}
	b, err := f.s.opt.OpenDir(dir)
	if err != nil {
		return nil, err
	}
	if f.roots == nil {
		f.roots = map[string]backend.Backend{}
	}
	f.roots[dir] = b
	return b, nil
}

// target is a log to look into: of a session or of a run.
type target struct {
	row *Row
	run *RunRow
	// last is when the log was last used: nothing in it is newer.
	last time.Time
	// spans are the pieces that may match, in order; nil is the whole log.
	spans []textSpan
}

// textSpan is a piece of a log, from the beginning of a record to the end of one.
type textSpan struct {
	from, to int64
	odd      bool // see index.Odd
}

// batch is how many logs are asked for at first; each time it is eight times as many. What is common is found in the newest
// ones, and then nobody needs the signatures of the others.
const batch = 16

// find looks for what the first query means and, where nothing is found, for what the second means. more says that there are
// more hits than wanted, which says which query has them.
func (f *finder) find(ctx context.Context, queries []*index.Query) (hits []SearchHit, more bool, which int, err error) {
	all, known := f.logs()
	limit, size := f.opt.Limit, batch
	if f.opt.Rank || limit <= 0 {
		// A rank is known only when all hits are; then nothing can be left out.
		limit, size = math.MaxInt, len(all)
	}
	f.with = make([]int, queries[0].Terms())
	rest := make([][]target, len(queries))
	for len(all) > 0 && !newest(hits, limit, all[0].last) {
		n := min(size, len(all))
		lists := f.targets(queries, all[:n], known[:n])
		if hits, err = f.walk(ctx, queries[0], lists[0], limit, hits); err != nil {
			return nil, false, 0, err
		}
		// Kept for the second query, which must look at all logs if the first finds nothing.
		for k := range queries {
			rest[k] = append(rest[k], lists[k]...)
		}
		all, known, size = all[n:], known[n:], 8*size
	}
	if len(hits) == 0 && len(queries) > 1 {
		which = 1
		if hits, err = f.walk(ctx, queries[1], rest[1], limit, nil); err != nil {
			return nil, false, 0, err
		}
	}
	// Logs were walked by when they were last used; the hits of one may be older than those of the next.
	slices.SortStableFunc(hits, func(a, b SearchHit) int { return b.at.Compare(a.at) })
	if f.opt.Rank {
		weights := f.weights()
		for i := range hits {
			hits[i].Score = hits[i].found.score(weights)
		}
		slices.SortStableFunc(hits, func(a, b SearchHit) int { return cmp.Compare(b.Score, a.Score) })
	}
	if n := f.opt.Limit; n > 0 && len(hits) > n {
		hits, more = hits[:n], true
	}
	f.markShared(hits)
	return hits, more, which, nil
}

// markShared marks the hits in sessions whose id others have, too: a copy in another place, for one.
func (f *finder) markShared(hits []SearchHit) {
	if len(hits) == 0 {
		return
	}
	times := make(map[session.ID]int, len(f.ids))
	for _, id := range f.ids {
		times[id]++
	}
	for i := range hits {
		if s := hits[i].Session; s != nil {
			hits[i].Shared = times[s.ID] > 1
		}
	}
}

// place is where a log is: its folder, and its path for messages.
func (t *target) place() (dir, path string) {
	if t.run != nil {
		return t.run.place.dir, t.run.Path
	}
	return t.row.Source.Root.Sessions, t.row.Path
}

// key is how the source of the log is called in the catalogue.
func (t *target) key() string {
	if t.run != nil {
		return runsKey(t.run.place)
	}
	return sourceKey(t.row.Source)
}

// newest says whether more hits than wanted are so new that a log that was last used at that time cannot have newer ones.
func newest(hits []SearchHit, limit int, last time.Time) bool {
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

// logs gives all logs that are searched, the one that was used last first, and what the index has of each, nil where it has
// nothing.
func (f *finder) logs() (all []target, known []*index.Log) {
	n := len(f.rows) + len(f.runs)
	all, known = make([]target, 0, n), make([]*index.Log, 0, n)
	for i := range f.rows {
		t := target{row: &f.rows[i], last: f.rows[i].When()}
		if at, ok := t.row.Active.Time(); ok {
			// The log's own word: a file that was copied or touched is not used by that.
			t.last = at
		}
		all = append(all, t)
	}
	for i := range f.runs {
		all = append(all, target{run: &f.runs[i], last: f.runs[i].Log.Time})
	}
	slices.SortStableFunc(all, func(a, b target) int { return b.last.Compare(a.last) })
	c := f.s.opt.Index.Catalogue()
	for i := range all {
		if t := &all[i]; t.run != nil {
			l, _ := c.Log(runsKey(t.run.place), t.run.Log.Name)
			known = append(known, l)
		} else {
			known = append(known, f.keptNow(c, t.row))
		}
	}
	return all, known
}

// keptNow gives what the index has of a row's log. The row was made before the runs were brought up to date: what that
// forgot may have moved all signatures to another file, in which the places that the row knows mean nothing.
func (f *finder) keptNow(c *index.Catalogue, r *Row) *index.Log {
	if f.changed && r.kept != nil {
		if l, ok := c.Log(sourceKey(r.Source), r.kept.Name); ok && l.Stamp == r.kept.Stamp {
			return l
		}
	}
	return r.kept
}

// targets gives, for each query, those of the logs that may match. The signatures are gone through once. A log of which the
// index has nothing, or whose signatures are damaged, is looked at as a whole.
func (f *finder) targets(queries []*index.Query, all []target, known []*index.Log) [][]target {
	whole := make([]bool, len(all))
	var logs []*index.Log
	var places []int // of logs among all
	for i, l := range known {
		if l != nil {
			logs, places = append(logs, l), append(places, i)
		} else {
			whole[i] = true
		}
	}
	spans := make([][][]textSpan, len(queries))
	for k := range spans {
		spans[k] = make([][]textSpan, len(all))
	}
	unknown := f.s.opt.Index.EachChunk(logs, func(i int, c index.Chunk) {
		if f.opt.Rank {
			f.pieces++
			queries[0].CountTerms(c.Sig, f.with)
		}
		for k, q := range queries {
			if q.May(c.Sig) {
				at := places[i]
				spans[k][at] = append(spans[k][at], textSpan{c.From, c.To, index.Odd(c.Sig)})
			}
		}
	})
	for _, i := range unknown {
		whole[places[i]] = true
		// Taken out of the catalogue after the search, so that the next refresh makes them anew.
		f.lost = append(f.lost, index.Update{Source: all[places[i]].key(), Remove: []string{logs[i].Name}})
	}
	lists := make([][]target, len(queries))
	for k := range lists {
		for i, t := range all {
			if s := spans[k][i]; whole[i] || len(s) > 0 {
				if !whole[i] {
					t.spans = s
				}
				lists[k] = append(lists[k], t)
			}
		}
	}
	return lists
}

// weights says how much each term tells, by how many of the pieces of all logs may have it. The piece takes the document's
// place in the usual formula: how many entries have a term is known to nobody without reading them.
func (f *finder) weights() []float64 {
	weights := make([]float64, len(f.with))
	for i, n := range f.with {
		weights[i] = math.Log(1 + (float64(f.pieces-n)+0.5)/(float64(n)+0.5))
	}
	return weights
}

// walk looks into logs, several at a time, and adds to the hits, in the order of the targets. It ends when there are more hits
// than wanted and no newer ones can be in the logs that are left.
func (f *finder) walk(ctx context.Context, q *index.Query, targets []target, limit int, hits []SearchHit) ([]SearchHit, error) {
	var (
		mu      sync.Mutex
		next    int // the first target that nobody has taken
		head    int // the first whose hits are not in the list
		results = map[int][]SearchHit{}
		failed  error
		wg      sync.WaitGroup
	)
	take := func() int {
		mu.Lock()
		defer mu.Unlock()
		// targets are the newest first: if this one cannot have newer hits, none behind it can.
		if failed != nil || next == len(targets) || newest(hits, limit, targets[next].last) {
			return -1
		}
		next++
		return next - 1
	}
	give := func(i int, found []SearchHit, err error) {
		mu.Lock()
		defer mu.Unlock()
		if err != nil && failed == nil {
			failed = err
		}
		results[i] = found
		// In the order of the targets, whoever is done first: so the same search gives the same hits, however many work on
		// it.
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
	for range min(runtime.GOMAXPROCS(0), len(targets)) {
		wg.Go(func() {
			var l lookup
			l.f, l.q = f, q
			for {
				i := take()
				if i < 0 {
					return
				}
				found, err := l.look(ctx, &targets[i], limit)
				if err != nil && ctx.Err() == nil {
					// One log that cannot be read does not hide the others.
					_, path := targets[i].place()
					f.problem(named(path, err))
					err = nil
				}
				give(i, found, err)
			}
		})
	}
	wg.Wait()
	return hits, failed
}

func (f *finder) problem(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.opt.Problem != nil {
		f.opt.Problem(err)
	}
}

// counted is what the rank of a hit is made of.
type counted struct {
	terms  []int // how often each occurs
	length int   // of all texts
}

// score ranks a hit as Okapi BM25 does: the more often the terms occur, the better, but less so the longer the entry is, and
// a rare term counts for more than a common one. The length that counts as usual is that of a long paragraph, whatever is
// searched, so that a hit has the same score tomorrow.
func (c *counted) score(weights []float64) float64 {
	const k, b, usual = 1.2, 0.75, 1000
	sum := 0.0
	for i, n := range c.terms {
		tf := float64(n)
		sum += weights[i] * tf * (k + 1) / (tf + k*(1-b+b*float64(c.length)/usual))
	}
	return sum
}
