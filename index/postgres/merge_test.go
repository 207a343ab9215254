package postgres_test

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/postgres"
	"github.com/treeline-dev/treeline/index/word"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/pgtest"
)

// merging is an index without logs, into which a test puts chunks.
type merging struct {
	t *testing.T
	x *postgres.Index
	c *pgx.Conn
}

func newMerging(t *testing.T, name string) *merging {
	pgtest.Shared(t).Database(t, name)
	url := pgtest.Shared(t).URL(name)
	postgres.WithLogs(t, url)
	x, err := postgres.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(t.Context()) })
	return &merging{t, x, c}
}

// words returns the keys of chunk n.
func words(n int) (list []uint64) {
	for k := range uint64(40) {
		list = append(list, (k*0x9e3779b9+uint64(n)*k%7)<<32)
	}
	return list
}

// put puts a log of one chunk. version 0 is new.
func (m *merging) put(n, version int) {
	l := index.Log{Name: fmt.Sprintf("%03d.jsonl", n), Stamp: index.Stamp{Generation: "1", Size: int64(version)}}
	if version > 0 {
		l.Before = &index.Stamp{Generation: "1", Size: int64(version - 1)}
	}
	l.Chunks = []index.Chunk{{To: 100, Words: words(n + version)}}
	if err := m.x.Put(m.t.Context(), "", index.Update{Source: "a/b", Put: []index.Log{l}}); err != nil {
		m.t.Error(err)
	}
}

// sizes returns how many chunks each segment has.
func (m *merging) sizes() []int {
	rows, err := m.c.Query(m.t.Context(), "select chunks from treeline_index.segment order by chunks")
	if err != nil {
		m.t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		m.t.Fatal(err)
	}
	return list
}

// check compares the keys of all chunks with those that were put; version returns that of a log, -1 if it was removed.
func (m *merging) check(logs int, version func(n int) int) {
	m.t.Helper()
	keys, err := postgres.KeysOf(m.t.Context(), m.c)
	if err != nil {
		m.t.Fatal(err)
	}
	for n := range logs {
		var id int64
		err := m.c.QueryRow(m.t.Context(), "select c.id from treeline_index.chunk c join treeline_index.log l on l.log = c.log where l.name = $1",
			fmt.Sprintf("a/b/%03d.jsonl", n)).Scan(&id)
		if version(n) < 0 {
			if err != pgx.ErrNoRows {
				m.t.Errorf("log %d: %v", n, err)
			}
			continue
		}
		if err != nil {
			m.t.Fatal(err)
		}
		var want []uint32
		for _, w := range words(n + version(n)) {
			want = append(want, uint32(w>>32))
		}
		slices.Sort(want)
		if diff := difftest.Diff(slices.Compact(want), keys[id]); diff != "" {
			m.t.Errorf("log %d (-want +got):\n%s", n, diff)
		}
	}
}

// TestMerge: many small segments become few, and nothing is lost.
func TestMerge(t *testing.T) {
	t.Parallel()
	m := newMerging(t, "merge")
	const logs, replaced, kept = 70, 20, 60
	for n := range logs {
		if n == postgres.MergeAt-1 {
			if got := m.sizes(); len(got) != n {
				t.Fatalf("segments of %v chunks: merged too early", got)
			}
		}
		m.put(n, 0)
	}
	for n := range replaced {
		m.put(n, 1)
	}
	var gone []string
	for n := kept; n < logs; n++ {
		gone = append(gone, fmt.Sprintf("%03d.jsonl", n))
	}
	if err := m.x.Put(t.Context(), "", index.Update{Source: "a/b", Remove: gone}); err != nil {
		t.Fatal(err)
	}
	m.check(logs, func(n int) int {
		switch {
		case n < replaced:
			return 1
		case n < kept:
			return 0
		}
		return -1
	})
	if sizes := m.sizes(); len(sizes) > 2*postgres.MergeAt {
		t.Errorf("segments of %v chunks", sizes)
	}
}

// TestMergeDead: replaced chunks are dropped, so that a log that changes all the time takes no more room.
func TestMergeDead(t *testing.T) {
	t.Parallel()
	m := newMerging(t, "mergedead")
	for version := range 4 * postgres.MergeAt {
		m.put(0, version)
	}
	m.check(1, func(int) int { return 4*postgres.MergeAt - 1 })
	if sizes := m.sizes(); len(sizes) > postgres.MergeAt {
		t.Errorf("segments of %v chunks", sizes)
	}
	for version := 4 * postgres.MergeAt; len(m.sizes()) < postgres.MergeAt-1; version++ {
		m.put(0, version)
	}
	// No chunk of any segment is left.
	if err := m.x.Put(t.Context(), "", index.Update{Source: "a/b", Remove: []string{"000.jsonl"}}); err != nil {
		t.Fatal(err)
	}
	m.put(1, 0)
	if sizes := m.sizes(); !slices.Equal(sizes, []int{1}) {
		t.Errorf("segments of %v chunks, want the last one", sizes)
	}
}

// TestMergers: several programs put and merge at the same time.
func TestMergers(t *testing.T) {
	t.Parallel()
	m := newMerging(t, "mergers")
	var wg sync.WaitGroup
	for worker := range 3 {
		wg.Go(func() {
			for n := range 12 {
				m.put(12*worker+n, 0)
			}
		})
	}
	wg.Wait()
	m.put(36, 0) // a put without the lock may have left segments to merge
	m.check(37, func(int) int { return 0 })
	if sizes := m.sizes(); len(sizes) > 2*postgres.MergeAt {
		t.Errorf("segments of %v chunks", sizes)
	}
}

// TestMergeParts: segments of many rows are merged in parts.
func TestMergeParts(t *testing.T) {
	t.Parallel()
	m := newMerging(t, "mergeparts")
	want := make([][]uint32, postgres.MergeAt)
	for n := range want {
		var words []uint64
		for k := range uint64(50_000) {
			w := word.Mix(k+uint64(n)*1000, 1)
			words, want[n] = append(words, w), append(want[n], uint32(w>>32))
		}
		slices.Sort(want[n])
		want[n] = slices.Compact(want[n])
		l := index.Log{Name: fmt.Sprint(n), Stamp: index.Stamp{Generation: "1"}, Chunks: []index.Chunk{{To: 1, Words: words}}}
		if err := m.x.Put(t.Context(), "", index.Update{Source: "a/b", Put: []index.Log{l}}); err != nil {
			t.Fatal(err)
		}
	}
	if sizes := m.sizes(); !slices.Equal(sizes, []int{postgres.MergeAt}) {
		t.Fatalf("segments of %v chunks", sizes)
	}
	keys, err := postgres.KeysOf(t.Context(), m.c)
	if err != nil {
		t.Fatal(err)
	}
	if len(keys) != len(want) {
		t.Fatalf("%d chunks, want %d", len(keys), len(want))
	}
	for n, id := range slices.Sorted(maps.Keys(keys)) {
		if !slices.Equal(keys[id], want[n]) {
			t.Errorf("chunk %d has %d keys, want %d", n, len(keys[id]), len(want[n]))
		}
	}
}
