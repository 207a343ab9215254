package place

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/shortid"
	"github.com/treeline-dev/treeline/session"
)

// TestShortIDs: all ways to shorten give the ids that their comments promise, for ids that begin alike, are equal, or are very short.
func TestShortIDs(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	for round := range 200 {
		ids := make([]string, 1+r.IntN(150))
		for i := range ids {
			id := make([]byte, r.IntN(14))
			for k := range id {
				id[k] = "ab"[r.IntN(2)]
			}
			ids[i] = strings.Repeat("c", r.IntN(2)*6) + string(id)
		}
		rows := make([]Row, len(ids))
		var some []*Row
		for i, id := range ids {
			rows[i].ID = session.ID(id)
			some = append(some, &Row{})
			some[i].ID = session.ID(id)
		}
		Shorten(rows)
		short := shortid.All(ids)
		shared := ShortenSome(slices.Concat(some, some[:1]), ids)
		for i, id := range ids {
			n := min(8, len(id))
			for n < len(id) && slices.ContainsFunc(slices.Delete(slices.Clone(ids), i, i+1), func(o string) bool { return strings.HasPrefix(o, id[:n]) }) {
				n++
			}
			again := 0
			for _, o := range ids {
				if o == id {
					again++
				}
			}
			got := fmt.Sprint([]string{rows[i].Short, short[i], some[i].Short}, shared[some[i]])
			if want := fmt.Sprint([]string{id[:n], id[:n], id[:n]}, again > 1); got != want {
				t.Fatalf("round %d, %q among %q: %s, want %s", round, id, ids, got, want)
			}
		}
	}
}
