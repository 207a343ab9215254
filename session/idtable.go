package session

import "hash/maphash"

// idTable finds entries by id. It is a hash table of indexes into the nodes, which hold the ids: four bytes a slot, where
// a map[EntryID]int32 takes 25, and it lets a later entry take the place of an earlier one with the same id.
type idTable struct {
	slots []int32 // index+1; 0 is free
	used  int
	seed  maphash.Seed
}

// insert makes nodes[i] the entry of its id and gives the one that was it before, or -1.
func (t *idTable) insert(nodes []node, i int32) (before int32) {
	if t.used*2 >= len(t.slots) {
		t.grow(nodes)
	}
	s := t.slot(nodes, nodes[i].id)
	before = t.slots[s] - 1
	if before < 0 {
		t.used++
	}
	t.slots[s] = i + 1
	return before
}

// find gives the index of the last entry with the id, or -1.
func (t *idTable) find(nodes []node, id EntryID) int32 {
	if len(t.slots) == 0 {
		return -1
	}
	return t.slots[t.slot(nodes, id)] - 1
}

func (t *idTable) slot(nodes []node, id EntryID) uint64 {
	mask := uint64(len(t.slots) - 1)
	for s := maphash.String(t.seed, string(id)) & mask; ; s = (s + 1) & mask {
		if i := t.slots[s]; i == 0 || nodes[i-1].id == id {
			return s
		}
	}
}

func (t *idTable) grow(nodes []node) {
	if len(t.slots) == 0 {
		t.seed = maphash.MakeSeed()
		t.slots = make([]int32, 64)
		return
	}
	old := t.slots
	t.slots = make([]int32, 2*len(old))
	for _, i := range old {
		if i != 0 {
			t.slots[t.slot(nodes, nodes[i-1].id)] = i
		}
	}
}
