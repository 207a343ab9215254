package postgres

import (
	"cmp"
	"slices"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/internal/pgdb"
	"github.com/treeline-dev/treeline/internal/sorting"
)

const (
	sqlPending = `select first, source, id, number from treeline_index.pending order by number limit $1`

	sqlCompare = `insert into treeline_index.pending select first, source, id, nextval('treeline_index.number')
			from unnest($1::bigint[], $2::text[], $3::text[]) as t(first, source, id)
		on conflict (first, source, id) do update set number = excluded.number`

	// sqlClaim locks groups that did not change. It waits for a transaction that puts one of their logs and has not committed.
	sqlClaim = `select p.number from treeline_index.pending p join unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[])
			as t(first, source, id, number) using (first, source, id, number)
		order by p.first, p.source, p.id for update of p`

	sqlCompared = `delete from treeline_index.pending p using unnest($1::bigint[], $2::text[], $3::text[]) as t(first, source, id)
		where p.first = t.first and p.source = t.source and p.id = t.id`
)

// pending reads rows of sqlPending.
func pending(rows *pgdb.Rows) (list []index.Group, err error) {
	var g index.Group
	var first int64
	err = pgdb.ForEachRow(rows, []any{&first, &g.Source, &g.ID, &g.Number}, func() error {
		g.First = uint64(first)
		list = append(list, g)
		return nil
	})
	return list, err
}

// groups are the groups that an update names.
type groups []index.Group

// columns returns the groups column by column, each once. They are in the order of their key, so that no two transactions deadlock.
func (g *groups) columns() (firsts []int64, sources, ids []string, numbers []int64) {
	for i := range *g {
		one := &(*g)[i]
		one.Source, one.ID = valid(one.Source), text(one.ID)
	}
	sorting.By(*g, func(a, b index.Group) int {
		return cmp.Or(cmp.Compare(int64(a.First), int64(b.First)), cmp.Compare(a.Source, b.Source), cmp.Compare(a.ID, b.ID))
	})
	*g = slices.Compact(*g)
	for _, one := range *g {
		firsts, numbers = append(firsts, int64(one.First)), append(numbers, one.Number)
		sources, ids = append(sources, one.Source), append(ids, one.ID)
	}
	return firsts, sources, ids, numbers
}

// queue adds a statement with the groups to a batch.
func (g *groups) queue(batch *pgdb.Batch, sql string) {
	if len(*g) > 0 {
		firsts, sources, ids, _ := g.columns()
		batch.Queue(sql, firsts, sources, ids)
	}
}

// claim adds the locking of the groups to a batch. It fails with index.ErrOvertaken if one of them has changed.
func (g *groups) claim(batch *pgdb.Batch) {
	if len(*g) == 0 {
		return
	}
	firsts, sources, ids, numbers := g.columns()
	batch.Queue(sqlClaim, firsts, sources, ids, numbers).Query(func(rows *pgdb.Rows) error {
		same, err := pgdb.CollectRows(rows, pgdb.RowTo[int64])
		if err == nil && len(same) < len(*g) {
			err = index.ErrOvertaken
		}
		return err
	})
}
