package postgres_test

import (
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/find"
)

// TestCopies: the index knows which logs of an archive are copies, and up to when, as a newly made index does, whichever log grows, is
// rewritten or is removed. Each message counts in only one of them.
func TestCopies(t *testing.T) {
	t.Parallel()
	a := newArchive(t, "copies")
	shared := a.shared()
	name := func(id string) string { return "one-00000001/claude/-p/" + id + ".jsonl" }
	create := func(id string, minutes ...int) {
		_, err := a.b.Create(t.Context(), name(id), prompts(id, minutes...)...)
		a.must(err)
	}
	stat := func(id string) backend.Log {
		l, err := a.b.Stat(t.Context(), name(id))
		a.must(err)
		return l
	}
	check := func(what string, want int) {
		t.Helper()
		a.sameRows(a.local(), shared, 0)
		a.sameHits(a.local(), shared, "prompt", find.Options{})
		rows, err := shared.Catalogue(t.Context(), find.RefreshOptions{})
		a.must(err)
		own := 0
		for i := range rows {
			for _, s := range rows[i].Known.Spells.List() {
				if !s.Copied {
					own += s.Messages
				}
			}
		}
		if own != want {
			t.Errorf("%s: %d messages count, want %d", what, own, want)
		}
	}
	create("s", 0, 1, 2, 3, 4, 5)
	check("one log", 6)
	create("f", 0, 1, 2, 3)
	check("the beginning of a copy", 6)
	_, err := a.b.Append(t.Context(), stat("f"), prompts("f", 4, 6, 7)...)
	a.must(err)
	check("all of the copy", 8)
	create("g", 0, 1, 2, 3, 4, 6, 7, 8)
	check("a copy of the copy", 9)
	_, err = a.b.Replace(t.Context(), stat("s"), prompts("s", 0, 1)...)
	a.must(err)
	check("the original is rewritten", 8)
	a.must(a.b.Remove(t.Context(), stat("g")))
	check("without the last copy", 7)
	a.must(a.b.Remove(t.Context(), stat("s")))
	check("without the original", 7)
}
