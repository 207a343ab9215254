package postgres

import (
	"testing"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/internal/pgdb"
	"github.com/treeline-dev/treeline/internal/pgtest"
)

// TestSearchWhilePut: a log that is put again during a search, so that its chunk gets another id, is found.
func TestSearchWhilePut(t *testing.T) {
	t.Parallel()
	pgtest.Shared(t).Database(t, "whileput")
	WithLogs(t, pgtest.Shared(t).URL("whileput"))
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

// TestSearchWhileReplaced: a log that is replaced between two pages of a search is searched as a whole: the known chunks were those of the
// old log.
func TestSearchWhileReplaced(t *testing.T) {
	t.Parallel()
	pgtest.Shared(t).Database(t, "whilereplaced")
	WithLogs(t, pgtest.Shared(t).URL("whilereplaced"))
	x, err := Open(pgtest.Shared(t).URL("whilereplaced"))
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	q, err := query.Parse("plum", query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	put := func(name string, used int64, before *index.Stamp, now index.Stamp, chunk index.Chunk) {
		t.Helper()
		chunk.Words = q.Keys().Words
		l := index.Log{Name: name, Before: before, Stamp: now, Chunks: []index.Chunk{chunk}, Facts: &index.Facts{Used: used}}
		if err := x.Put(t.Context(), "", index.Update{Source: "a/b", Put: []index.Log{l}}); err != nil {
			t.Fatal(err)
		}
	}
	old := index.Stamp{Generation: "1", Size: 90}
	put("new", 2, nil, old, index.Chunk{To: 90})
	put("old", 1, nil, old, index.Chunk{To: 90})
	sel := index.Selection{Limit: 1}
	list, next, err := x.Search(t.Context(), sel, q)
	if err != nil || len(list) != 1 || list[0].Name != "new" || next == nil {
		t.Fatalf("%+v, %v, %v; want one log and more", list, next, err)
	}
	put("old", 1, &old, index.Stamp{Generation: "2", Size: 200}, index.Chunk{From: 150, To: 200})
	sel.After = next
	list, _, err = x.Search(t.Context(), sel, q)
	if want := (index.Span{To: 200, Odd: true}); err != nil || len(list) != 1 || len(list[0].Spans) != 1 || list[0].Spans[0] != want {
		t.Errorf("%+v, %v; want one log with the chunk %+v", list, err, want)
	}
}
