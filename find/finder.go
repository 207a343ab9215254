package find

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
	"github.com/treeline-dev/treeline/index/query"
)

// finder is one search.
type finder struct {
	s   *Store
	opt SearchOptions
	// all are the logs of sessions; they and runs are filled by list, before find.
	all  []target
	runs []RunRow
	ids  []string // of all sessions, also of those that are not searched
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
	run *RunRow
	// source and kept are where a session's log is known from; row is made of them when it is needed.
	source *catalogued
	kept   *index.Log
	row    *Row
	// last is when the log was last used: nothing in it is newer.
	last time.Time
	// spans are the pieces that may match, in order; nil is the whole log.
	spans []textSpan
}

// textSpan is a piece of a log, from the beginning of a record to the end of one.
type textSpan struct {
	from, to int64
	odd      bool // see index.Chunk.Odd
}

// batch is how many logs are asked for at first; each time it is eight times as many. What is common is found in the newest
// ones, and then nobody needs the signatures of the others.
const batch = 16

// find looks for what the first query means and, where nothing is found, for what the second means. more says that there are
// more hits than wanted, which says which query has them.
func (f *finder) find(ctx context.Context, queries []*query.Query) (hits []SearchHit, more bool, which int, err error) {
	for i := range f.runs {
		f.all = append(f.all, target{run: &f.runs[i], last: f.runs[i].Log.Time})
	}
	all := newest(f.all)
	limit, size := f.opt.Limit, batch
	if f.opt.Rank || limit <= 0 {
		// A rank is known only when all hits are; then nothing can be left out.
		limit, size = math.MaxInt, len(all)
	}
	f.with = make([]int, queries[0].Terms())
	rest := make([][]target, len(queries))
	for len(all) > 0 && !enough(hits, limit, all[0].last) {
		n := min(size, len(all))
		lists := f.targets(queries, all[:n])
		if hits, err = f.walk(ctx, queries[0], lists[0], limit, hits); err != nil {
			return nil, false, 0, err
		}
		// Kept for the second query, which must look at all logs if the first finds nothing.
		for k := range queries {
			rest[k] = append(rest[k], lists[k]...)
		}
		all, size = all[n:], 8*size
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
	f.nameSessions(hits)
	return hits, more, which, nil
}

// nameSessions says how the sessions of hits can be called, and marks those whose id others have, too: a copy in another
// place, for one.
func (f *finder) nameSessions(hits []SearchHit) {
	var rows []*Row
	for i := range hits {
		// Those that are named stand behind one another, where one session has many hits.
		if r := hits[i].Session; r != nil && (len(rows) == 0 || rows[len(rows)-1] != r) {
			rows = append(rows, r)
		}
	}
	shared := shortenSome(rows, f.ids)
	for i := range hits {
		if r := hits[i].Session; r != nil {
			hits[i].Shared = shared[r]
		}
	}
}

// place is where a log is: its folder, and its path for messages.
func (t *target) place() (dir, path string) {
	if t.run != nil {
		return t.run.place.dir, t.run.Path
	}
	return t.source.Root.Sessions, t.row.Path
}

// key is how the source of the log is called in the catalogue.
func (t *target) key() string {
	if t.run != nil {
		return runsKey(t.run.place)
	}
	return t.source.key
}

// enough says whether more hits than wanted are so new that a log that was last used at that time cannot have newer ones.
func enough(hits []SearchHit, limit int, last time.Time) bool {
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

// known gives what the index has of logs, nil where it has nothing.
func (f *finder) known(logs []*target) []*index.Log {
	c := f.s.opt.Index.Catalogue()
	known := make([]*index.Log, len(logs))
	for i, t := range logs {
		if t.run != nil {
			known[i], _ = c.Log(runsKey(t.run.place), t.run.Log.Name)
		} else {
			known[i] = f.keptNow(c, t)
		}
	}
	return known
}

// newest gives the order of targets by when they were last used; of sessions that were used in one moment the one whose file
// was written last comes first. Their places are sorted, and not they, which are large.
func newest(all []target) []*target {
	type moment struct {
		seconds int64
		nanos   int32
		at      int32
	}
	moments := make([]moment, len(all))
	for i := range all {
		t := all[i].last
		moments[i] = moment{t.Unix(), int32(t.Nanosecond()), int32(i)}
	}
	written := func(at int32) int64 {
		if l := all[at].kept; l != nil {
			return l.Stamp.Nanos
		}
		return 0
	}
	slices.SortFunc(moments, func(a, b moment) int {
		switch {
		case a.seconds != b.seconds:
			return cmp.Compare(b.seconds, a.seconds)
		case a.nanos != b.nanos:
			return cmp.Compare(b.nanos, a.nanos)
		}
		return cmp.Or(cmp.Compare(written(b.at), written(a.at)), cmp.Compare(a.at, b.at))
	})
	order := make([]*target, len(all))
	for i := range moments {
		order[i] = &all[moments[i].at]
	}
	return order
}

// keptNow gives what the index has of a session's log. It was listed before the runs were brought up to date: what that
// forgot may have moved all signatures to another file, in which the places that were known mean nothing.
func (f *finder) keptNow(c *index.Catalogue, t *target) *index.Log {
	if f.changed && t.kept != nil {
		if l, ok := c.Log(t.source.key, t.kept.Name); ok && l.Stamp == t.kept.Stamp {
			return l
		}
	}
	return t.kept
}

// targets gives, for each query, those of the logs that may match. The signatures are gone through once. A log of which the
// index has nothing, or whose signatures are damaged, is looked at as a whole.
func (f *finder) targets(queries []*query.Query, all []*target) [][]target {
	whole := make([]bool, len(all))
	var logs []*index.Log
	var places []int // of logs among all
	for i, l := range f.known(all) {
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
	unknown := f.s.opt.Index.EachChunk(logs, func(i int, c *index.Kept) {
		if f.opt.Rank {
			f.pieces++
			queries[0].CountTerms(c, f.with)
		}
		for k, q := range queries {
			if q.May(c) {
				at := places[i]
				spans[k][at] = append(spans[k][at], textSpan{c.From, c.To, c.Odd()})
			}
		}
	})
	for _, i := range unknown {
		whole[places[i]] = true
		// Put after the search, so that the next refresh makes them anew; not where somebody else moved or removed them
		// meanwhile.
		if f.s.opt.Index.Current(logs[i]) {
			f.lost = append(f.lost, index.Update{Source: all[places[i]].key(), Put: []index.Log{logs[i].Lost()}})
		}
	}
	lists := make([][]target, len(queries))
	for k := range lists {
		for i := range all {
			s := spans[k][i]
			if !whole[i] && len(s) == 0 {
				continue
			}
			t := all[i]
			if t.run == nil {
				f.row(t)
			}
			lists[k] = append(lists[k], *t)
			if !whole[i] {
				lists[k][len(lists[k])-1].spans = s
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
func (f *finder) walk(ctx context.Context, q *query.Query, targets []target, limit int, hits []SearchHit) ([]SearchHit, error) {
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
		if failed != nil || next == len(targets) || enough(hits, limit, targets[next].last) {
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
