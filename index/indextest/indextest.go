// Package indextest is the suite that every index must pass: on disk, in memory, and in a database.
package indextest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/session"
)

// Index is what the suite asks of an index; see index.Index for the contract.
type Index interface {
	Put(updates ...index.Update)
	Commit(ctx context.Context) error
	Catalogue() *index.Catalogue
	EachChunk(list []index.Place, take func(i int, c *index.Kept)) (unknown []int)
	IDs(l *index.Log, n int, take func(from int64, hash uint32)) error
	Close() error
}

// Kept is what an index still has when it is opened again.
type Kept int

const (
	// Nothing: the index is in memory.
	Nothing Kept = iota
	// Committed is what was committed.
	Committed
	// Everything that was put, with or without a Commit.
	Everything
)

// Maker returns a function that opens one index again and again.
type Maker func(t *testing.T) (open func() Index, kept Kept)

// Run runs the suite.
func Run(t *testing.T, make Maker) {
	for _, c := range []struct {
		name string
		test func(*testing.T, Maker)
	}{
		{"Empty", testEmpty},
		{"Put", testPut},
		{"Reopen", testReopen},
		{"Chunks", testChunks},
		{"Continue", testContinue},
		{"Forget", testForget},
		{"Snapshots", testSnapshots},
		{"Histories", testHistories},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, make) })
	}
}

// Log makes a log with something in every field, which depends on n.
func Log(name string, n int) index.Log {
	l := index.Log{
		Name:  name,
		Stamp: index.Stamp{Generation: fmt.Sprintf("g%d", n), Size: int64(n) * 1000, Nanos: int64(n) * 1e9, Changed: int64(n) * 2e9, Racy: n%5 == 0},
		Summary: index.Summary{
			Session: n%7 != 0, ID: session.ID(fmt.Sprint("id-", n)), Dialect: []string{"omp", "pi"}[n%2], CWD: fmt.Sprint("/p", n%3),
			Title: strings.Repeat("t", n%200), Prompt: fmt.Sprint("prompt ", n), Created: session.Time{Text: fmt.Sprint(n)},
			Active: session.Time{Text: fmt.Sprint(n + 1)}, Parent: fmt.Sprint("p", n), Origin: session.ID(strings.Repeat("o", n%2)), Version: n % 4, Messages: n, Entries: 2 * n,
			Branches: n % 9, Problems: n % 2, Models: slices.Repeat([]string{"m1", "m2"}, n%3), Has: index.Has(n % 32),
			Tokens: index.Tokens{Input: int64(n % 3), Output: 2, CacheRead: 3, CacheWrite: 4, Total: int64(n)}, Cost: float64(n) / 8,
			Spells: index.EncodeSpells([]index.Spell{spell(n), spell(n + 1)}),
			Task:   n%3 == 1, First: uint64(n%2) << 60, Forked: int64(n%4) * 1e12,
		},
		Chunks: chunks(n, 1+n%3), IDs: [][]uint32{{uint32(n), 7}},
	}
	l.SetResume(resume(n))
	if diff := difftest.Diff(resume(n), l.Resume(), difftest.EmptyIsNil); diff != "" {
		panic("what reading on needs (-set +got):\n" + diff)
	}
	return l
}

// resume returns a Resume, which is the zero value for some logs.
func resume(n int) index.Resume {
	if n%4 == 0 {
		return index.Resume{}
	}
	return index.Resume{
		From: int64(n), Head: uint64(n) << 40, Messages: n, Models: min(n%2, n%3), Tokens: index.Tokens{Output: int64(n % 3)}, Cost: float64(n % 2),
		Spells: n % 2, Last: spell(n),
		Has: index.Has(n % 32), Name: strings.Repeat("t", n%200), Short: fmt.Sprint("short ", n), Prompt: fmt.Sprint("prompt ", n+n%3),
		Before: session.Before{
			Entries: 2 * n, Problems: n % 3, Ends: [][]session.EntryID{{"a", "b"}, {session.EntryID(fmt.Sprint(n))}},
			Last: session.EntryID(strings.Repeat("z", n%3)), Messages: slices.Repeat([]string{"msg"}, n%4),
			Labels: slices.Repeat([]session.EntryID{"l"}, n%3), Missing: slices.Repeat([]session.EntryID{"m"}, n%2),
		},
	}
}

// spell returns a spell with or without each of its members.
func spell(n int) index.Spell {
	return index.Spell{
		Quarter: int64(n % 5 * 1000), Model: n%3 - 1, Copied: n%2 == 0, Messages: n, Answers: n % 7,
		Tokens: index.Tokens{Input: int64(n % 3)}, Cost: float64(n%4) / 8,
	}
}

// chunks makes n chunks that depend on seed.
func chunks(seed, n int) []index.Chunk {
	list := make([]index.Chunk, n)
	for i := range list {
		from := int64(i * 100)
		list[i] = index.Chunk{From: from, To: from + 90, Sig: bytes.Repeat([]byte{byte(seed), byte(i)}, 1+seed%300), Flags: byte(seed + i)}
	}
	return list
}

// equal compares the parts of logs that a catalogue returns.
var equal = []difftest.Option{difftest.EmptyIsNil, difftest.Without("Log.Chunks", "Log.IDs", "Log.resume", "Log.pieces")}

// source is a source of a catalogue, decoded.
type source struct {
	key  string
	logs []index.Log
}

func sources(c *index.Catalogue) (list []source) {
	for _, s := range c.Sources {
		one := source{key: s.Key}
		for i := range s.Logs.Len() {
			one.logs = append(one.logs, *s.Logs.At(i))
		}
		list = append(list, one)
	}
	return list
}

func same(t *testing.T, x Index, want ...source) {
	t.Helper()
	if diff := difftest.Diff(want, sources(x.Catalogue()), equal...); diff != "" {
		t.Fatalf("the catalogue (-want +got):\n%s", diff)
	}
	if diff := difftest.Diff(resumes(want), resumes(sources(x.Catalogue())), difftest.EmptyIsNil); diff != "" {
		t.Fatalf("what reading on needs (-want +got):\n%s", diff)
	}
}

// resumes returns the Resume of all logs.
func resumes(list []source) (all []index.Resume) {
	for _, s := range list {
		for i := range s.logs {
			all = append(all, s.logs[i].Resume())
		}
	}
	return all
}

// key identifies a log.
type key struct{ source, name string }

// chunksOf returns copies of all chunks of some logs in the current catalogue.
func chunksOf(t *testing.T, x Index, now *index.Catalogue, keys ...key) [][]index.Chunk {
	t.Helper()
	places := make([]index.Place, len(keys))
	for i, k := range keys {
		var ok bool
		if places[i], ok = now.PlaceOf(k.source, k.name); !ok {
			t.Fatalf("%s is not known", k.name)
		}
	}
	lists := make([][]index.Chunk, len(keys))
	unknown := x.EachChunk(places, func(i int, c *index.Kept) {
		lists[i] = append(lists[i], checked(c))
	})
	if unknown != nil {
		t.Fatalf("the signatures of %d of %v are lost", unknown, keys)
	}
	for i, l := range places {
		if n := l.Logs.At(l.At).ChunkCount(); len(lists[i]) != n {
			t.Errorf("%d chunks, ChunkCount says %d", len(lists[i]), n)
		}
	}
	return lists
}

// checked copies a chunk and checks all of it; EachChunk then reports a damaged log.
func checked(c *index.Kept) index.Chunk {
	c.Sound()
	chunk := c.Chunk
	chunk.Sig = bytes.Clone(c.Sig)
	return chunk
}

// different compares chunks, without a diff of thousands of signatures.
func different(want, got []index.Chunk) string {
	same := func(a, b index.Chunk) bool {
		return a.From == b.From && a.To == b.To && a.Flags == b.Flags && bytes.Equal(a.Sig, b.Sig)
	}
	if slices.EqualFunc(want, got, same) {
		return ""
	}
	return difftest.Diff(want, got)
}

func commit(t *testing.T, x Index) {
	t.Helper()
	if err := x.Commit(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func testEmpty(t *testing.T, make Maker) {
	open, _ := make(t)
	x := open()
	same(t, x)
	commit(t, x)
	if x.Catalogue().Logs("nowhere") != nil {
		t.Error("logs of a source that was not put")
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
	if err := x.Close(); err != nil {
		t.Error("closed twice:", err)
	}
}

// testPut: what is put is known at once and in order, and the last update wins.
func testPut(t *testing.T, make Maker) {
	open, _ := make(t)
	x := open()
	x.Put(index.Update{Source: "b", Put: []index.Log{Log("z", 1), Log("a", 2)}}, index.Update{Source: "a", Put: []index.Log{Log("m", 3)}})
	x.Put(index.Update{Source: "b", Put: []index.Log{Log("z", 4)}, Remove: []string{"never"}})
	want := []source{{key: "a", logs: []index.Log{Log("m", 3)}}, {key: "b", logs: []index.Log{Log("a", 2), Log("z", 4)}}}
	same(t, x, want...)
	commit(t, x)
	same(t, x, want...)
	x.Put(index.Update{Source: "b", Remove: []string{"a"}}, index.Update{Source: "a", Remove: []string{"m"}})
	same(t, x, source{key: "b", logs: []index.Log{Log("z", 4)}})
}

// testReopen: what was committed is kept, and nothing else.
func testReopen(t *testing.T, make Maker) {
	open, kept := make(t)
	x := open()
	var logs []index.Log
	for n := range 300 {
		logs = append(logs, Log(fmt.Sprintf("f/%03d", n), n))
	}
	x.Put(index.Update{Source: "s", Put: slices.Clone(logs)})
	commit(t, x)
	if kept != Everything {
		x.Put(index.Update{Source: "s", Put: []index.Log{Log("more", 1)}})
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	x = open()
	if kept == Nothing {
		same(t, x)
		return
	}
	same(t, x, source{key: "s", logs: logs})
	var keys []key
	for n := range logs {
		keys = append(keys, key{"s", logs[n].Name})
	}
	for n, got := range chunksOf(t, x, x.Catalogue(), keys...) {
		if diff := different(chunks(n, 1+n%3), got); diff != "" {
			t.Fatal(diff)
		}
	}
}

// testChunks: signatures come back before and after a commit, and those of many logs at once.
func testChunks(t *testing.T, make Maker) {
	open, _ := make(t)
	x := open()
	for round := range 2 {
		for n := range 40 {
			x.Put(index.Update{Source: "s", Put: []index.Log{Log(fmt.Sprintf("%02d", n), n+round)}})
		}
		for range 2 {
			var logs []index.Place
			all := x.Catalogue().Logs("s")
			for i := range all.Len() {
				logs = append(logs, index.Place{Logs: all, At: all.Len() - 1 - i})
			}
			got := map[int][]index.Chunk{}
			if unknown := x.EachChunk(logs, func(i int, c *index.Kept) {
				got[i] = append(got[i], checked(c))
			}); unknown != nil {
				t.Fatalf("the signatures of %d are lost", unknown)
			}
			for i := range logs {
				n := len(logs) - 1 - i + round
				if diff := different(chunks(n, 1+n%3), got[i]); diff != "" {
					t.Fatal(diff)
				}
			}
			commit(t, x)
		}
	}
}

// testContinue: a log that grew keeps its first chunks and gets others after them.
func testContinue(t *testing.T, make Maker) {
	open, kept := make(t)
	x := open()
	first := Log("a", 2) // three chunks
	x.Put(index.Update{Source: "s", Put: []index.Log{first}})
	want := chunks(2, 3)
	for n := 3; n < 30; n++ {
		if n%2 == 0 {
			commit(t, x)
		}
		if kept != Nothing && n%5 == 0 {
			commit(t, x)
			_ = x.Close()
			x = open()
		}
		known, _ := x.Catalogue().Log("s", "a")
		keep := known.ChunkCount() - 1
		next := Log("a", n)
		next.Continue(known, keep)
		x.Put(index.Update{Source: "s", Put: []index.Log{next}})
		want = append(want[:keep:keep], chunks(n, 1+n%3)...)
		if diff := different(want, chunksOf(t, x, x.Catalogue(), key{"s", "a"})[0]); diff != "" {
			t.Fatalf("round %d: %s", n, diff)
		}
	}
	known, _ := x.Catalogue().Log("s", "a")
	var ids []uint32
	if err := x.IDs(known, 1, func(_ int64, h uint32) { ids = append(ids, h) }); err != nil {
		t.Fatal(err)
	}
	if diff := difftest.Diff([]uint32{2, 7}, ids); diff != "" {
		t.Errorf("ids beside the first chunk: %s", diff)
	}
}

func testForget(t *testing.T, make Maker) {
	open, _ := make(t)
	x := open()
	x.Put(index.Update{Source: "s", Put: []index.Log{Log("a", 1), Log("b", 2)}})
	commit(t, x)
	x.Put(index.Update{Source: "s", Put: []index.Log{Log("c", 3)}, Forget: true})
	same(t, x, source{key: "s", logs: []index.Log{Log("c", 3)}})
	commit(t, x)
	same(t, x, source{key: "s", logs: []index.Log{Log("c", 3)}})
}

// testSnapshots: a catalogue never changes.
func testSnapshots(t *testing.T, make Maker) {
	open, _ := make(t)
	x := open()
	x.Put(index.Update{Source: "s", Put: []index.Log{Log("a", 1), Log("b", 2)}})
	commit(t, x)
	before := x.Catalogue()
	x.Put(index.Update{Source: "s", Put: []index.Log{Log("a", 9)}, Remove: []string{"b"}})
	commit(t, x)
	want := []source{{key: "s", logs: []index.Log{Log("a", 1), Log("b", 2)}}}
	if diff := difftest.Diff(want, sources(before), equal...); diff != "" {
		t.Error(diff)
	}
}

// testHistories: random updates give the same as a plain map.
func testHistories(t *testing.T, make Maker) {
	open, kept := make(t)
	r := rand.New(rand.NewPCG(1, 2))
	x := open()
	want, committed := map[key]int{}, map[key]int{}
	rounds := 300
	if kept == Everything {
		rounds = 25 // a database takes its time
	}
	for round := range rounds {
		u := index.Update{Source: fmt.Sprint("s", r.IntN(3))}
		for range r.IntN(4) {
			name, n := fmt.Sprint("log", r.IntN(20)), r.IntN(1000)
			u.Put = append(u.Put, Log(name, n))
			want[key{u.Source, name}] = n
		}
		if len(u.Put) == 0 {
			name := fmt.Sprint("log", r.IntN(20))
			u.Remove = append(u.Remove, name)
			delete(want, key{u.Source, name})
		}
		x.Put(u)
		switch r.IntN(6) {
		case 0:
			commit(t, x)
			committed = maps.Clone(want)
		case 1:
			if kept != Nothing {
				_ = x.Close()
				x = open()
			}
			if kept == Committed {
				want = maps.Clone(committed)
			}
		}
		got, now := map[key]int{}, x.Catalogue()
		for _, s := range now.Sources {
			for _, l := range s.Logs.All() {
				got[key{s.Key, l.Name}] = l.Summary.Messages
			}
		}
		if diff := difftest.Diff(want, got); diff != "" {
			t.Fatalf("round %d: %s", round, diff)
		}
		keys := slices.Collect(maps.Keys(want))
		for i, got := range chunksOf(t, x, now, keys...) {
			n := want[keys[i]]
			if diff := different(chunks(n, 1+n%3), got); diff != "" {
				t.Fatalf("round %d, %v: %s", round, keys[i], diff)
			}
		}
	}
}
