package postgres

import (
	"context"
	"math"
	"slices"

	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/internal/pgdb"
	"github.com/treeline-dev/treeline/internal/sorting"
)

const (
	// Each segment with the number of chunks in newer segments.
	sqlAges = `select segment, first, last, bits, chunks, sum(chunks) over (order by last desc, segment) - chunks as newer from treeline_index.segment`

	// The rows that have certain keys. The limit forces a lookup for each key: no plan reads all rows.
	sqlPostings = `select k.n, s.first, s.bits, p.bucket, p.data
		from (` + sqlAges + `) s cross join unnest($1::bigint[]) with ordinality as k(key, n) cross join lateral (
			select p.bucket, p.data from treeline_index.posting p
			where p.segment = s.segment and p.bucket = (k.key >> (32 - s.bits))::integer limit 1) p
		where s.newer >= $2 and s.newer < $3 order by s.first`

	sqlWhole = `select id from treeline_index.chunk where whole`

	sqlTotals = `select coalesce(max(last) filter (where newer >= $1), 0), coalesce(sum(chunks) filter (where newer < $1), 0), coalesce(sum(chunks), 0)
		from (` + sqlAges + `) s`
)

// recent is how many chunks are looked up first. If very many of them may match, the others need not be known.
const recent = 16384

// sieve has the chunks that may match. It is valid in one transaction, which sees one state of the tables.
type sieve struct {
	keys *query.Keys
	// ids are the ids of these chunks, in order. Some may not exist any more.
	ids []int64
	// all: the keys exclude nothing, and there are no ids.
	all bool
	// before: chunks with this id or a smaller one are unknown; 0 if all were looked up.
	before int64
	// seen is how many chunks were looked up, of total. Some may not exist any more.
	seen, total int
}

// lookup returns the sieve of the recent chunks.
func lookup(ctx context.Context, tx *pgdb.Tx, keys *query.Keys) (*sieve, error) {
	s := &sieve{keys: keys}
	batch := &pgdb.Batch{}
	batch.Queue(sqlTotals, recent).QueryRow(func(r pgdb.Row) error { return r.Scan(&s.before, &s.seen, &s.total) })
	batch.Queue(sqlWhole).Query(func(rows *pgdb.Rows) (err error) {
		s.ids, err = pgdb.CollectRows(rows, pgdb.RowTo[int64])
		return err
	})
	return s, s.look(ctx, tx, batch, 0, recent)
}

// complete looks the other chunks up, too.
func (s *sieve) complete(ctx context.Context, tx *pgdb.Tx) error {
	if s.before == 0 || s.all {
		return nil
	}
	s.before, s.seen = 0, s.total
	return s.look(ctx, tx, &pgdb.Batch{}, recent, math.MaxInt64)
}

// look adds the chunks of segments of a certain age, and sends the batch with what it contains already.
func (s *sieve) look(ctx context.Context, tx *pgdb.Tx, batch *pgdb.Batch, from, to int64) error {
	wanted := slices.Compact(slices.Sorted(slices.Values(listed(s.keys, nil))))
	if s.all = len(wanted) == 0; s.all {
		return nil
	}
	found := make(map[uint32][]int64, len(wanted))
	batch.Queue(sqlPostings, wanted, from, to).Query(func(rows *pgdb.Rows) error {
		var n, first int64
		var width int
		var b bucket
		err := pgdb.ForEachRow(rows, []any{&n, &first, &width, &b.number, &b.data}, func() (err error) {
			key := uint32(wanted[n-1])
			found[key], err = b.find(first, width, key, found[key])
			return err
		})
		return err
	})
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	for _, list := range found {
		sort(list)
	}
	ids, ok := chunksWith(s.keys, found)
	if s.all = !ok; s.all {
		return nil
	}
	s.ids = append(s.ids, ids...)
	sort(s.ids)
	s.ids = slices.Compact(s.ids)
	return nil
}

// passes reports whether a chunk may match.
func (s *sieve) passes(id int64) bool {
	_, ok := slices.BinarySearch(s.ids, id)
	return ok || s.all
}

// rare chooses the plan. If matches are rare, all logs with chunks that may match are read and sorted. Otherwise logs are scanned from the
// newest on until there are enough, which takes longer the rarer matches are.
func (s *sieve) rare() bool {
	const few = 500
	if s.all {
		return false
	}
	may := float64(len(s.ids))
	if s.seen > 0 {
		may *= float64(s.total) / float64(s.seen)
	}
	return len(s.ids) <= few || may*may <= restMost*float64(s.total)
}

// sort sorts ids that are almost in order: the ids of segments may overlap.
func sort(ids []int64) {
	if !slices.IsSorted(ids) {
		slices.Sort(ids)
	}
}

// listed appends all keys that must be looked up.
func listed(k *query.Keys, list []int64) []int64 {
	for _, w := range k.Words {
		list = append(list, int64(wordKey(w)))
	}
	for _, g := range k.Grams {
		list = append(list, int64(gramKey(g)))
	}
	for _, any := range k.Anys {
		for i := range any {
			list = listed(&any[i], list)
		}
	}
	return list
}

// chunksWith returns the chunks that have what keys demand. ok is false if they demand nothing.
func chunksWith(k *query.Keys, found map[uint32][]int64) (ids []int64, ok bool) {
	narrow := func(list []int64) {
		if ok {
			ids = both(ids, list)
		} else {
			ids, ok = slices.Clone(list), true
		}
	}
	var all [][]int64
	for _, w := range k.Words {
		all = append(all, found[wordKey(w)])
	}
	for _, g := range k.Grams {
		all = append(all, found[gramKey(g)])
	}
	sorting.By(all, func(a, b []int64) int { return len(a) - len(b) })
	for _, list := range all {
		narrow(list)
	}
	for _, any := range k.Anys {
		var one []int64
		asks := len(any) > 0
		for i := range any {
			list, some := chunksWith(&any[i], found)
			one, asks = append(one, list...), asks && some // an alternative that demands nothing excludes nothing
		}
		if asks {
			slices.Sort(one)
			narrow(slices.Compact(one))
		}
	}
	return ids, ok
}
