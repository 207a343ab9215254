package session

import (
	"fmt"
	"testing"

	"github.com/treeline-dev/treeline/internal/difftest"
)

// TestRepeatsSettleLate: an entry whose parent id occurs several times is a child of the first entry with that id, even if it is
// added before the builder has found that the id repeats.
func TestRepeatsSettleLate(t *testing.T) {
	t.Parallel()
	said := func(id, parent string) *Envelope {
		env := &Envelope{ID: []byte(id), Message: []byte(id), Kind: KindMessage, Type: []byte("message"), Repeats: true}
		if parent != "" {
			env.Parent = []byte(parent)
		}
		return env
	}
	for _, asked := range []bool{false, true} {
		b := NewBuilder("log", nil)
		var repeated [][2]int
		b.OnRepeat(func(at, first int) { repeated = append(repeated, [2]int{at, first}) })
		for _, env := range []*Envelope{said("x", ""), said("y", "x"), said("x", "y"), said("z", "x"), said("x", "z"), said("w", "x~2")} {
			b.Add(env)
			if asked { // a decoder that asks for an entry gets the same tree
				b.NativeID(b.Len() - 1)
			}
		}
		tree := b.Finish()
		var got []string
		for e := range tree.Entries() {
			got = append(got, fmt.Sprintf("%s %s<%s %d", e.NativeID, e.ID, e.Parent, e.FirstPiece()))
		}
		want := []string{"x x< 0", "y y<x 1", "x x~2<y 0", "z z<x 3", "x x~3<z 0", "w w<x~2 5"}
		if d := difftest.Diff(want, got); d != "" {
			t.Errorf("asked %v: %s", asked, d)
		}
		if d := difftest.Diff([][2]int{{2, 0}, {4, 0}}, repeated); d != "" {
			t.Errorf("asked %v: repeats: %s", asked, d)
		}
		if len(tree.Problems()) > 0 {
			t.Error(tree.Problems())
		}
	}
}

// TestRepeatsBeforeTheStart: the same where the first entry with the id stands before the place where reading began.
func TestRepeatsBeforeTheStart(t *testing.T) {
	t.Parallel()
	b := NewBuilder("log", nil)
	b.StartAfter(Before{Entries: 1, Last: "x"}, func(id EntryID) bool { return id == "x" })
	for _, id := range []string{"x", "z"} {
		b.Add(&Envelope{ID: []byte(id), Parent: []byte("x"), Kind: KindMessage, Type: []byte("message"), Repeats: true})
	}
	tree := b.Finish()
	if e := tree.At(1); e.Parent != "x" || tree.Above(1) != -2 {
		t.Errorf("z hangs on %q, at %d; the entry x before the start was meant", e.Parent, tree.Above(1))
	}
	if e := tree.At(0); e.ID != "x~2" || e.NativeID != "x" {
		t.Errorf("the repeated entry is %q, of its own %q", e.ID, e.NativeID)
	}
}
