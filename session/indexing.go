package session

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
)

// Expect makes room for the entries of a log of that many bytes, so that the tree need not grow step by step.
func (b *Builder) Expect(bytes int64) {
	const perEntry = 1500 // what a record takes on average in the agents' own files; less only costs a copy
	n := int(min(bytes/perEntry, 1<<20))
	b.t.nodes = make([]node, 0, n)
	b.t.ids.resize(slotsFor(n))
}

// At gives the entry at a position, as far as it is known before the log's end: the parent of an entry may still be missing.
func (b *Builder) At(i int) Entry { return b.t.At(i) }

// slotsFor gives the size of a table for n ids.
func slotsFor(n int) int {
	slots := 64
	for slots < 2*n {
		slots *= 2
	}
	return slots
}

// trim gives back the room of a tree that has far fewer entries than were expected: one with images, say.
func (b *Builder) trim() {
	t := b.t
	if n := len(t.nodes); cap(t.nodes) > n+n/4+64 {
		t.nodes = slices.Clone(t.nodes)
		if slots := slotsFor(n); slots < len(t.ids.slots) {
			t.ids.resize(slots)
		}
	}
}

// indexAtOnce is how many entries are read before their ids go into the table. Each takes a slot that is in no cache; one
// after the other in a short loop, the processor waits for many of them at the same time.
const indexAtOnce = 64

// find gives the index of the last entry with the id, or -1.
func (b *Builder) find(id EntryID) int32 {
	b.index()
	return b.t.ids.find(b.t.nodes, id)
}

// index enters the ids of the entries that have come since it was last called.
func (b *Builder) index() {
	for t := b.t; b.indexed < len(t.nodes); {
		i := int32(b.indexed)
		b.indexed++
		if before := t.ids.insert(t.nodes, i); before >= 0 {
			b.again(i, before)
		}
	}
}

// again deals with an id that an earlier entry has.
func (b *Builder) again(i, before int32) {
	t := b.t
	if t.nodes[before].flags&derivedID != 0 {
		// We made the other one up: it steps aside.
		t.nodes[before].id = b.derive(before, nil)
		t.ids.insert(t.nodes, before)
		return
	}
	b.duplicates = true
	n := &t.nodes[i]
	b.report(Problem{Line: int(n.line), Offset: n.offset, Kind: ProblemDuplicate,
		Message: fmt.Sprintf("entry id %q stands on line %d already", n.id, t.nodes[before].line),
		Advice:  "both entries are kept; the id means this one, the last"})
}

// repeat gives the id of an entry whose own one an earlier entry has.
func (b *Builder) repeat(id []byte) EntryID {
	for k := 2; ; k++ {
		if next := EntryID(fmt.Sprintf("%s~%d", id, k)); b.find(next) < 0 {
			return next
		}
	}
}

func (b *Builder) setNative(i int32, id EntryID) {
	if b.t.natives == nil {
		b.t.natives = map[int32]EntryID{}
	}
	b.t.natives[i] = id
}

// derive gives an id for node i that depends on the log alone, so that it is the same each time the log is read: eight hex
// digits, as the agents make them, from the session, the position and the beginning of the record.
func (b *Builder) derive(i int32, record []byte) EntryID {
	t := b.t
	h := fnv.New64a()
	h.Write([]byte(t.header.ID))
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(i)))
	h.Write(record[:min(len(record), 64)])
	seed := h.Sum64()
	for {
		id := EntryID(fmt.Sprintf("%08x", uint32(seed>>32^seed)))
		if t.ids.find(t.nodes, id) < 0 {
			return id
		}
		seed = seed*6364136223846793005 + 1442695040888963407
	}
}
