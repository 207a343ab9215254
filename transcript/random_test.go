package transcript_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/transcript"
)

// Logs whose parents are missing, later, repeated or circular, with calls and results in any order, can be shown: windows of any size show
// the same blocks, and the drawing is bounded and has each entry once.
func TestRandomTrees(t *testing.T) {
	c := soaktest.Begin(t)
	r := rand.New(rand.NewPCG(c.Seed(7), 8))
	w := world.New(t)
	for round := range c.Rounds(soaktest.Part(100, 40), 40) {
		path := w.Put(fmt.Sprintf("random-%d.jsonl", round), talkLog(randomLines(r, 1+r.IntN(40))...))
		d := open(t, w, path)
		rows := rail(t, d, transcript.RailRequest{MaxRows: 1000})
		drawn, paged := map[session.EntryID]bool{}, map[session.EntryID]bool{}
		for n, row := range rows.Rows {
			if row.Above >= n {
				t.Fatalf("round %d: row %d hangs on row %d", round, n, row.Above)
			}
			if drawn[row.Entry] && row.Kind == transcript.RowEntry && !repeated(d, row.Entry) {
				t.Errorf("round %d: %s is drawn twice", round, row.Entry)
			}
			drawn[row.Entry] = true
			if !paged[row.Link] {
				checkPaging(t, d, row.Link, allModes...)
			}
			paged[row.Link] = true
		}
		for _, most := range []int{4, 7} {
			if r := rail(t, d, transcript.RailRequest{MaxRows: most}); len(r.Rows) > most {
				t.Errorf("round %d: %d rows", round, len(r.Rows))
			}
		}
		checkOutline(t, d, rows)
		if t.Failed() {
			t.Fatalf("round %d: %v", round, w.ReadLines(path))
		}
	}
}

// repeated reports whether several entries have the same id.
func repeated(d *transcript.Document, id session.EntryID) bool {
	n := 0
	for e := range d.Session().Tree().Entries() {
		if e.ID == id {
			n++
		}
	}
	return n > 1
}

func randomLines(r *rand.Rand, n int) (lines []string) {
	for i := range n {
		id, parent := fmt.Sprintf("e%d", i), "-"
		switch k := r.IntN(20); {
		case i > 0 && k < 14:
			parent = fmt.Sprintf("e%d", i-1)
		case k < 18:
			parent = fmt.Sprintf("e%d", r.IntN(n)) // an earlier or later one, or itself
		case k == 18:
			parent = "missing"
		}
		switch r.IntN(60) {
		case 0, 1:
			id = fmt.Sprintf("e%d", r.IntN(n))
		case 2:
			id = fmt.Sprintf("e%d@%d", r.IntN(n), r.IntN(n))
		}
		call := r.IntN(4)
		kind := []string{
			"user Ask.", "answer Say.", fmt.Sprintf(`call c%d bash {"command":"ls"}`, call), fmt.Sprintf("result c%d out", call),
			fmt.Sprintf("failure c%d bad", call), "label e0 mark", "custom treeline.leaf", "model other", "answer ", "compaction Sum.",
		}[r.IntN(10)]
		lines = append(lines, id+" "+parent+" "+kind)
	}
	return lines
}
