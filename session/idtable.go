package session

import "hash/maphash"

// idTable finds entries by id. It is a hash table of indexes into the nodes, which hold the ids: eight bytes a slot, where a
// map[EntryID]int32 takes 25. A later entry replaces an earlier one with the same id. A slot keeps half of the hash beside
// the index, so that most other ids are told apart without touching their nodes.
type idTable struct {
	slots []idSlot
	used  int
	seed  maphash.Seed
}

type idSlot struct {
	hash uint32
	node int32 // index+1; 0 is free
}

// insert makes nodes[i] the entry of its id and gives the index of the one that it replaces, or -1.
func (t *idTable) insert(nodes []node, i int32) (before int32) {
	if t.used*2 >= len(t.slots) {
		t.resize(max(64, 2*len(t.slots)))
	}
	h := t.hash(nodes[i].id)
	s := t.slot(nodes, nodes[i].id, h)
	before = s.node - 1
	if before < 0 {
		t.used++
	}
	*s = idSlot{hash: uint32(h >> 32), node: i + 1}
	return before
}

// find gives the index of the last entry with the id, or -1.
func (t *idTable) find(nodes []node, id EntryID) int32 {
	if len(t.slots) == 0 {
		return -1
	}
	return t.slot(nodes, id, t.hash(id)).node - 1
}

func (t *idTable) hash(id EntryID) uint64 { return maphash.String(t.seed, string(id)) }

// slot gives the slot of the id, or the free slot where it belongs.
func (t *idTable) slot(nodes []node, id EntryID, h uint64) *idSlot {
	mask := uint32(len(t.slots) - 1)
	tag := uint32(h >> 32)
	for k := tag & mask; ; k = (k + 1) & mask {
		s := &t.slots[k]
		if s.node == 0 || s.hash == tag && nodes[s.node-1].id == id {
			return s
		}
	}
}

// resize makes room for half as many ids as there are slots, a power of two.
func (t *idTable) resize(slots int) {
	if t.slots == nil {
		t.seed = maphash.MakeSeed()
	}
	old := t.slots
	t.slots = make([]idSlot, slots)
	mask := uint32(slots - 1)
	for _, s := range old {
		if s.node == 0 {
			continue
		}
		k := s.hash & mask
		for t.slots[k].node != 0 {
			k = (k + 1) & mask
		}
		t.slots[k] = s
	}
}
