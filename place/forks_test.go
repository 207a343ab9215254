package place

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/session"
)

func forkRows(parents ...string) []Row {
	rows := make([]Row, len(parents))
	for i, p := range parents {
		id := string(rune('a' + i))
		rows[i] = Row{Path: "/s/" + id + ".jsonl", Summary: dialect.Summary{ID: session.ID(id), Parent: p, OK: true}}
	}
	return rows
}

// Forks stand below their parents, and everything else keeps its place, also sessions whose parents form a cycle.
func TestForks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		parents []string
		want    string
	}{
		{"none", []string{"", "", ""}, "a b c"},
		{"before its parent", []string{"c", "", ""}, "b c .a"},
		{"by path", []string{"", "/s/a.jsonl", "/s/b.jsonl"}, "a .b ..c"},
		{"by a path of another home", []string{"", "/home/other/a.jsonl", `C:\s\b.jsonl`}, "a .b ..c"},
		{"by a name without a folder", []string{"", "a.jsonl"}, "a b"},
		{"a parent that is not listed", []string{"z", "a"}, "a .b"},
		{"its own parent", []string{"", "b", ""}, "a b c"},
		{"a circle", []string{"", "c", "b", ""}, "a b .c d"},
		{"a circle with a fork before it", []string{"d", "", "d", "c", ""}, "b c .d ..a e"},
		{"two circles", []string{"b", "a", "", "e", "d"}, "a .b c d .e"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rows, depth := Forks(forkRows(tt.parents...))
			got := ""
			for i := range rows {
				got += " " + "........"[:depth[i]] + string(rows[i].ID)
			}
			if diff := difftest.Diff(" "+tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// If several files have the name of the parent, none of them is the parent.
func TestForksSameName(t *testing.T) {
	t.Parallel()
	rows := forkRows("", "", "/elsewhere/a.jsonl")
	rows[1].Path = "/copy/a.jsonl"
	if _, depth := Forks(rows); !slices.Equal(depth, []int{0, 0, 0}) {
		t.Errorf("depths are %v, want all 0", depth)
	}
}

// Whatever the parents are, each session is listed once: below its parent, or in its place among those without one.
func TestForksRandom(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 7))
	for range 500 {
		n := 1 + r.IntN(20)
		parents := make([]string, n)
		for i := range parents {
			if r.IntN(3) > 0 {
				parents[i] = string(rune('a' + r.IntN(n)))
			}
		}
		in := forkRows(parents...)
		rows, depth := Forks(slices.Clone(in))
		seen, top := map[session.ID]bool{}, session.ID("")
		var above []session.ID
		for i := range rows {
			id := rows[i].ID
			if seen[id] || depth[i] > len(above) {
				t.Fatalf("%v: %v at depth %d, of %v", parents, id, depth[i], above)
			}
			seen[id] = true
			if depth[i] == 0 && id < top {
				t.Fatalf("%v: %v stands behind %v", parents, id, top)
			}
			if depth[i] == 0 {
				top = id
			} else if string(above[depth[i]-1]) != rows[i].Parent {
				t.Fatalf("%v: %v stands below %v", parents, id, above[depth[i]-1])
			}
			above = append(above[:depth[i]], id)
		}
		if len(seen) != n {
			t.Fatalf("%v: %d of %d are listed", parents, len(seen), n)
		}
	}
}
