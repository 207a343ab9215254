package session

import (
	"hash/maphash"
	"sort"
)

// idTable finds entries by id. It is a hash table of indexes into the nodes, which hold the ids: eight bytes a slot, where a
// map[EntryID]int32 takes 25. A later entry replaces an earlier one with the same id. A slot keeps half of the hash beside
// the index, so that most other ids are told apart without touching their nodes.
//
// Ids that a decoder numbers need no slot: they are in order, and bisection finds them.
type idTable struct {
	slots []idSlot
	used  int
	room  int // number of slots to begin with
	seed  maphash.Seed
	// ordered is how many of the first nodes have made-up ids, each greater than the one before it. These ids are not in slots.
	ordered int
	touched int32 // see touch
}

type idSlot struct {
	hash uint32
	node int32 // index+1; 0 is free
}

// fewOrdered is the number of ordered ids below which they move into slots: so few are not worth a second search.
const fewOrdered = 64

// insert makes nodes[i] the entry of its id and gives the index of the one that it replaces, or -1.
func (t *idTable) insert(nodes []node, i int32) (before int32) { return t.insertHashed(nodes, i, 0) }

// insertHashed is insert for an id whose hash may be known; 0 is unknown.
func (t *idTable) insertHashed(nodes []node, i int32, hash uint64) (before int32) {
	made := nodes[i].flags&derivedID != 0
	if made && t.ordered == int(i) && (i == 0 || idLess(nodes[i-1].id, nodes[i].id)) {
		t.ordered++
		return -1
	}
	// A made-up id may have to give way to one of the log, and is then no longer in order.
	if n := t.ordered; n > 0 && (!made || n < fewOrdered) {
		t.ordered = 0
		for k := range n {
			if later := t.put(nodes, int32(k), 0); later >= 0 {
				t.put(nodes, later, 0)
			}
		}
	}
	if before = t.put(nodes, i, hash); before < 0 && t.ordered > 0 {
		before = t.bisect(nodes, nodes[i].id)
	}
	return before
}

// idLess orders ids by length first, so that decimal numbers are in order.
func idLess(a, b EntryID) bool { return len(a) < len(b) || len(a) == len(b) && a < b }

// bisect returns the index of an id among those that are in order, or -1.
func (t *idTable) bisect(nodes []node, id EntryID) int32 {
	n := t.ordered
	k := n
	if n > 0 && !idLess(nodes[n-1].id, id) { // a new id is usually greater than all others
		k = sort.Search(n, func(k int) bool { return !idLess(nodes[k].id, id) })
	}
	if k < n && nodes[k].id == id {
		return int32(k)
	}
	return -1
}

// put puts nodes[i] into the slot of its id and gives the index of the node that was there, or -1. h is the hash of the id, or 0 if unknown.
func (t *idTable) put(nodes []node, i int32, h uint64) (before int32) {
	if t.used*2 >= len(t.slots) {
		t.resize(max(64, t.room, 2*len(t.slots)))
	}
	if h == 0 {
		h = t.hash(nodes[i].id)
	}
	s := t.slot(nodes, nodes[i].id, h)
	before = s.node - 1
	if before < 0 {
		t.used++
	}
	*s = idSlot{hash: uint32(h >> 32), node: i + 1}
	return before
}

// touch brings the slots of ids into the cache before a loop that inserts them, and appends the hashes of the ids. The inserting
// loop branches on the content of a slot: after each misprediction it would wait for one slot at a time.
func (t *idTable) touch(nodes []node, hashes []uint64) []uint64 {
	if len(t.slots) == 0 || t.ordered > fewOrdered {
		return hashes
	}
	// The second loop is so short that the processor waits for many slots at once.
	for i := range nodes {
		hashes = append(hashes, t.hash(nodes[i].id))
	}
	mask, sum := uint32(len(t.slots)-1), int32(0)
	for _, h := range hashes {
		sum += t.slots[uint32(h>>32)&mask].node
	}
	t.touched = sum // otherwise the compiler leaves the loop out
	return hashes
}

// find returns the index of the last entry with the id, or -1.
func (t *idTable) find(nodes []node, id EntryID) int32 {
	if len(t.slots) > 0 {
		if s := t.slot(nodes, id, t.hash(id)); s.node > 0 {
			return s.node - 1
		}
	}
	return t.bisect(nodes, id)
}

func (t *idTable) hash(id EntryID) uint64 { return maphash.String(t.seed, string(id)) }

// slot returns the slot of the id, or the free slot where it belongs.
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

// expect makes room for n ids; a table without slots gets them at its first insert.
func (t *idTable) expect(n int) {
	t.room = slotsFor(n)
	if len(t.slots) > 0 && len(t.slots) < t.room {
		t.resize(t.room)
	}
}

// slotsFor returns the size of a table for n ids.
func slotsFor(n int) int {
	slots := 64
	for slots < 2*n {
		slots *= 2
	}
	return slots
}

// resize sets the number of slots, a power of two. The table has room for half as many ids.
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
