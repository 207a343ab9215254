package transcript

import (
	"slices"
	"testing"
)

// A fork of very many branches is listed from each of them. In quadratic time a million branches take many minutes.
func TestManyBranches(t *testing.T) {
	t.Parallel()
	const n = 1_000_000
	k := &Skeleton{first: make([]int32, n+1), next: make([]int32, n+1), kids: make([]int32, n+1), number: make([]int32, n+1)}
	for i := range int32(n) { // all are children of the place before the first entry
		k.first[i], k.next[i], k.number[i] = -1, i+1, i+1
	}
	k.first[n], k.next[n-1], k.kids[n] = 0, -1, n
	d := &Document{k: k}
	for from := 1; from <= n; from++ {
		if list := d.listed(n, from); len(list) != min(mostLabeled, n-from+1) || int(k.number[list[0]]) != from {
			t.Fatalf("from %d: %v", from, list)
		}
	}
	if list := d.listed(n, 3); !slices.Equal(list[:3], []int32{2, 3, 4}) {
		t.Errorf("from 3: %v", list)
	}
	if list := d.listed(5, 1); len(list) != 0 {
		t.Errorf("an end has branches: %v", list)
	}
}
