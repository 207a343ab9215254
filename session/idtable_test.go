package session

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestIDTable compares the table with a map: with ids that are numbered, in order or not, and with ids of the log between them.
func TestIDTable(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		var table idTable
		var nodes []node
		want := map[EntryID]int32{}
		table.expect(random.IntN(100))
		// Most logs are in order for a long time, some to the end.
		odd := []int{0, 500, 20}[seed%3]
		for i := range int32(300) {
			n := node{id: EntryID(fmt.Sprint("o", 7+i)), flags: derivedID}
			if odd > 0 && random.IntN(odd) == 0 {
				n.id = EntryID(fmt.Sprint("o", random.IntN(400)))
			}
			if odd > 0 && random.IntN(2*odd) == 0 {
				n.flags = 0
			}
			nodes = append(nodes, n)
			before, ok := want[n.id]
			if !ok {
				before = -1
			}
			if got := table.insert(nodes, i); got != before {
				t.Fatalf("seed %d: %q replaces node %d, not %d", seed, n.id, got, before)
			}
			want[n.id] = i
		}
		for k := range 420 {
			id := EntryID(fmt.Sprint("o", k))
			at, ok := want[id]
			if !ok {
				at = -1
			}
			if got := table.find(nodes, id); got != at {
				t.Errorf("seed %d: %q is node %d, not %d", seed, id, got, at)
			}
		}
		if odd == 0 && len(table.slots) > 0 {
			t.Errorf("seed %d: ids in order are in the table", seed)
		}
		if table.find(nodes, "") >= 0 || table.find(nodes, "x12") >= 0 {
			t.Errorf("seed %d: an id is found that no node has", seed)
		}
	}
}
