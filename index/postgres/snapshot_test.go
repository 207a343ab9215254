package postgres

import (
	"testing"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/internal/pgdb"
	"github.com/treeline-dev/treeline/internal/pgtest"
)

// TestSearchWhilePut: a log that is put again in the middle of a search, so that its chunk gets another id, is found.
func TestSearchWhilePut(t *testing.T) {
	t.Parallel()
	pgtest.Shared(t).Database(t, "whileput")
	x, err := Open(pgtest.Shared(t).URL("whileput"))
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	keys := query.Keys{Words: []uint64{7 << 32}}
	put := func(before *index.Stamp, size int64) {
		l := index.Log{Name: "a", Before: before, Stamp: index.Stamp{Generation: "1", Size: size}, Chunks: []index.Chunk{{To: size, Words: keys.Words}}}
		if err := x.Put(t.Context(), "", index.Update{Source: "a/b", Put: []index.Log{l}}); err != nil {
			t.Fatal(err)
		}
	}
	put(nil, 1)
	for _, few := range []bool{true, false} {
		err = x.read(t.Context(), func(p *pgdb.Pool) error {
			return p.Snapshot(t.Context(), func(tx *pgdb.Tx) error {
				among, err := lookup(t.Context(), tx, &keys)
				if err != nil {
					return err
				}
				list, err := x.Select(t.Context(), index.Selection{})
				if err != nil {
					return err
				}
				put(&list[0].Stamp, list[0].Stamp.Size+1)
				sel := index.Selection{Order: index.OrderUsed, Limit: 10}
				if few {
					list, _, err = ofChunks(t.Context(), tx, sel, among.ids)
				} else {
					list, _, err = ofNewest(t.Context(), tx, sel, among)
				}
				if len(list) != 1 {
					t.Errorf("few %v: %d logs", few, len(list))
				}
				return err
			})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
