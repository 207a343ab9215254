package index

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/session"
)

// TestRecords: a packed record is unpacked as it was, whatever its spelling.
func TestRecords(t *testing.T) {
	t.Parallel()
	const hex = "0123456789abcdef"
	for _, l := range []Log{
		{},
		{Name: "a/b/c.jsonl", Stamp: Stamp{Generation: hex + hex + "000000000000000f" + "ffffffffffffffff", Size: 1, Nanos: -1, Changed: 3, Racy: true}},
		{Name: "c.jsonl", Stamp: Stamp{Generation: hex[:15]}},
		{Name: "/", Stamp: Stamp{Generation: strings.ToUpper(hex)}},
		{Name: "d/", Stamp: Stamp{Generation: strings.Repeat(hex, 5)}},
		{Name: "x_id-1.jsonl", Summary: Summary{Session: true, ID: "id-1", Dialect: "omp", CWD: "/p", First: 7, Task: true}},
		{Name: "id/x.jsonl", Summary: Summary{ID: "id"}},
		{Name: "f", Summary: Summary{Title: "title", Prompt: "prompt", Created: session.Time{Text: `1782864000.5`}, Parent: "/p/x.jsonl", Origin: "o"}},
		{Name: "t", Summary: Summary{Created: session.Time{Text: `"2026-01-02T03:04:05.006Z"`}, Active: session.Time{Text: `"2026-01-02T03:04:05.006+1"`}}},
		{Name: "t", Summary: Summary{Created: session.Time{Text: `1782864000.5`}, Active: session.Time{Text: `"2026-02-30T03:04:05.006Z"`}}},
		{Name: "t", Summary: Summary{Created: session.Time{Text: `"1969-01-02T03:04:05.006Z"`}, Active: session.Time{Text: `"2026-01-02T03:04:05.006z"`}}},
		{Name: "p", pieces: []piece{{at: 1 << 40, size: 9, chunks: 3}, {at: -1}}, resume: "later"},
		{Name: "p", pieces: []piece{{at: inMemory + 5, size: 9, chunks: 1, shared: true, member: 11}}},
	} {
		logs := LogsOf([]Log{l})
		got := logs.At(0)
		if diff := difftest.Diff(&l, got, difftest.EmptyIsNil); diff != "" {
			t.Errorf("%s (-put +got):\n%s", l.Name, diff)
		}
		b := logs.Brief(0)
		at, ok := b.Active()
		wantAt, wantOK := l.Summary.Active.Time()
		if b.Name() != l.Name || b.ID != l.Summary.ID || b.CWD != l.Summary.CWD || b.Session != l.Summary.Session || ok != wantOK || !at.Equal(wantAt) {
			t.Errorf("%s in brief: %+v", l.Name, b)
		}
		if got := logs.Parent(0); got != l.Summary.Parent {
			t.Errorf("the parent of %s is %q, want %q", l.Name, got, l.Summary.Parent)
		}
		for _, g := range []string{"", l.Stamp.Generation, l.Stamp.Generation[:len(l.Stamp.Generation)/2], l.Stamp.Generation + "0", "x"} {
			if want, got := l.Stamp.Same(g, 1, -1, 3), b.Same(g, 1, -1, 3); want != got {
				t.Errorf("%s with generation %q: %v, want %v", l.Name, g, got, want)
			}
		}
	}
}

// TestNames: logs are found among names that begin alike and contain folders.
func TestNames(t *testing.T) {
	t.Parallel()
	names := []string{"a", "a/b", "a/b/c", "a/bc", "a0", "ab/", "ab/c", "b"}
	slices.Sort(names)
	var list []Log
	for i, name := range names {
		if i%2 == 0 {
			list = append(list, Log{Name: name})
		}
	}
	logs := LogsOf(list)
	for _, name := range append(names, "", "a/", "z", "a/b/", "a/b/cc") {
		want, found := slices.BinarySearchFunc(list, name, func(l Log, name string) int { return strings.Compare(l.Name, name) })
		if i, ok := logs.Find(name); i != want || ok != found {
			t.Errorf("%q is at %d, %v; want %d, %v", name, i, ok, want, found)
		}
	}
}

// TestPool: memory of records that were replaced does not accumulate.
func TestPool(t *testing.T) {
	t.Parallel()
	c := new(Catalogue)
	r := rand.New(rand.NewPCG(3, 4))
	for n := range 2000 {
		l := Log{Name: fmt.Sprint("log", r.IntN(20)), Summary: Summary{Prompt: strings.Repeat("p", 10_000), Messages: n}}
		c = c.with([]Update{{Source: "s", Put: []Log{l}}})
		if most := 2*c.live + poolSpare + 100_000; c.pool.size > most {
			t.Fatalf("after %d updates %d bytes are kept for %d", n, c.pool.size, c.live)
		}
		if got, ok := c.Log("s", l.Name); !ok || got.Summary.Messages != n {
			t.Fatalf("%s is %+v", l.Name, got)
		}
	}
}

// FuzzShared: whatever bytes stand where a shared piece was, they are a piece or damage.
func FuzzShared(f *testing.F) {
	s := Signer{Whole: true}
	var logs []Log
	for i := range 3 {
		s.Add([]byte("the frog sits at the pond"), 10, 90)
		from, to, _ := s.Leave()
		logs = append(logs, Log{Name: fmt.Sprint("log", i), Chunks: []Chunk{{From: from, To: to}}})
	}
	var held signatures
	held.holdShared(logs, s.Together())
	f.Add(held.held, 1)
	f.Add(bytes.Repeat([]byte{0xff}, 40), 0)
	f.Fuzz(func(t *testing.T, data []byte, member int) {
		try := func(data []byte) {
			var room []byte
			if p, err := sharedIn(data, &room, nil); err == nil {
				_ = p.take(sumOf("log1"), member, false, func(c *Kept) {
					c.Sound()
					c.HasWord(1 << 40)
					c.HasBigram(7)
				})
			}
		}
		try(data)
		if len(data) >= pieceHead { // the rest tests what a checksum does not catch
			data = bytes.Clone(data)
			end := pieceHead + int(min(uint64(data[0])|uint64(data[1])<<8, uint64(len(data)-pieceHead)))
			data[2], data[3] = 0, 0
			putSum(data[4:], sumOf(sharedName).with(data[pieceHead:end]))
			try(data)
		}
	})
}

func putSum(dst []byte, sum uint32) {
	for i := range 4 {
		dst[i] = byte(sum >> (8 * i))
	}
}
