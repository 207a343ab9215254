package postgres

import (
	"context"
	"slices"

	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/internal/pgdb"
)

const (
	// The rows that have some keys. The limit has each of them looked up: no plan reads all rows.
	sqlPostings = `select k.n, s.first, s.bits, p.bucket, p.data
		from treeline_index.segment s cross join unnest($1::bigint[]) with ordinality as k(key, n) cross join lateral (
			select p.bucket, p.data from treeline_index.posting p
			where p.segment = s.segment and p.bucket = (k.key >> (32 - s.bits))::integer limit 1) p`

	sqlWhole = `select id from treeline_index.chunk where whole`
)

// lookup gives the ids of the chunks that may have keys, in order. Some may not exist any more. ok is false if the keys exclude nothing.
func lookup(ctx context.Context, p *pgdb.Pool, keys *query.Keys) (ids []int64, ok bool, err error) {
	wanted := slices.Compact(slices.Sorted(slices.Values(listed(keys, nil))))
	if len(wanted) == 0 {
		return nil, false, nil
	}
	found := make(map[uint32][]int64, len(wanted))
	batch := &pgdb.Batch{}
	batch.Queue(sqlPostings, wanted).Query(func(rows *pgdb.Rows) error {
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
	var whole []int64
	batch.Queue(sqlWhole).Query(func(rows *pgdb.Rows) (err error) {
		whole, err = pgdb.CollectRows(rows, pgdb.RowTo[int64])
		return err
	})
	if err := p.SendBatch(ctx, batch).Close(); err != nil {
		return nil, false, err
	}
	for _, list := range found {
		slices.Sort(list) // the ids of segments may overlap
	}
	if ids, ok = chunksWith(keys, found); !ok {
		return nil, false, nil
	}
	ids = append(ids, whole...)
	slices.Sort(ids)
	return slices.Compact(ids), true, nil
}

// listed adds all keys that are looked up.
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

// chunksWith gives the chunks that have what keys ask for. ok is false if they ask for nothing.
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
	slices.SortFunc(all, func(a, b []int64) int { return len(a) - len(b) })
	for _, list := range all {
		narrow(list)
	}
	for _, any := range k.Anys {
		var one []int64
		asks := len(any) > 0
		for i := range any {
			list, some := chunksWith(&any[i], found)
			one, asks = append(one, list...), asks && some // an alternative that asks for nothing excludes nothing
		}
		if asks {
			slices.Sort(one)
			narrow(slices.Compact(one))
		}
	}
	return ids, ok
}
