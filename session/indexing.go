package session

import (
	"fmt"
	"slices"
)

// Expect makes room for the entries of a log of the given size.
func (b *Builder) Expect(bytes int64) {
	const perEntry = 1500 // average size of a record in the agents' files; a wrong guess only costs a copy
	b.expected = bytes
	n := int(min(bytes/perEntry, mostExpected))
	// Record sizes of agents vary widely: once the first part of a long log is read, grow knows how much room the rest needs.
	const many = 4096
	if n > many {
		n /= 8
	}
	b.t.nodes = make([]node, 0, n)
	b.t.links = make([]link, 0, n)
	b.t.ids.expect(n)
}

// mostExpected limits for how many entries room is made before they are read.
const mostExpected = 1 << 20

// grow makes room for more entries. The entries so far took read bytes of the log; it assumes that the rest has entries of the
// same size, and adds a sixteenth, so that a long log is not copied again near its end. append would grow long slices by a
// quarter, and copy them again and again.
func (b *Builder) grow(read int64) {
	t := b.t
	n := len(t.nodes)
	more := max(n, 16)
	if left := b.expected - read; !b.finished && left > 0 && read > 0 {
		more = int(min(float64(n)*float64(left)/float64(read), mostExpected))
		more += (n+more)/16 + 16
	}
	t.nodes, t.links = slices.Grow(t.nodes, more), slices.Grow(t.links, more)
	if !b.finished {
		t.ids.expect(n + more)
	}
}

// At returns the entry at a position before the end of the log is known: its parent may still prove to be missing.
func (b *Builder) At(i int) Entry {
	b.settleAll()
	e := b.t.At(i)
	if parent, ok := b.unresolved[int32(i)]; ok {
		e.Parent = parent
	}
	return e
}

// NativeID returns the id in the record of an entry, and whether an earlier entry has it too: see Envelope.Repeats.
func (b *Builder) NativeID(i int) (id EntryID, repeated bool) {
	b.settleAll()
	if native, ok := b.t.natives[int32(i)]; ok {
		return native, true
	}
	if n := &b.t.nodes[i]; n.flags&derivedID == 0 {
		id = n.id
	}
	return id, false
}

// Lookup returns an entry that was added, by its id.
func (b *Builder) Lookup(id EntryID) (Entry, bool) {
	if i := b.find(id); i >= 0 {
		return b.At(int(i)), true
	}
	return Entry{}, false
}

// trim frees the memory that Expect reserved for far too many entries.
func (b *Builder) trim() {
	t := b.t
	if n := len(t.nodes); cap(t.nodes) > n+n/4+64 {
		t.nodes, t.links = slices.Clone(t.nodes), slices.Clone(t.links)
		if slots := slotsFor(n); slots < len(t.ids.slots) {
			t.ids.resize(slots)
		}
	}
}

// indexAtOnce is how many entries are read before their ids go into the table. Each id touches a slot that is not in the
// cache; in a short loop the processor overlaps these misses.
const indexAtOnce = 64

// find returns the index of the last entry with the id, or -1.
func (b *Builder) find(id EntryID) int32 {
	b.index()
	return b.t.ids.find(b.t.nodes, id)
}

// index enters the ids of new entries into the table.
func (b *Builder) index() {
	t := b.t
	b.unsettled = false
	first := b.indexed
	hashes := b.hashes[:0]
	if len(t.nodes)-first > 1 {
		hashes = t.ids.touch(t.nodes[first:], hashes)
	}
	for b.indexed < len(t.nodes) {
		i, hash := int32(b.indexed), uint64(0)
		if k := b.indexed - first; k < len(hashes) {
			hash = hashes[k]
		}
		b.indexed++
		before := t.ids.insertHashed(t.nodes, i, hash)
		switch {
		case t.nodes[i].flags&repeats != 0:
			b.settle(i, before)
		case before >= 0:
			b.again(i, before)
		}
	}
}

// OnRepeat sets a function that is called for each entry whose id an earlier entry has: see Envelope.Repeats. first is the position
// of the earlier entry, -1 where it stands before the place where reading began. The call comes some entries later. The function
// must not ask the Builder for entries.
func (b *Builder) OnRepeat(f func(at, first int)) { b.repeated = f }

// settle gives entry i another id if an earlier one has its id: the entry at before, or one before the place where reading began.
// It runs inside index, because looking up the id of each entry when it is added would wait for memory each time.
func (b *Builder) settle(i, before int32) {
	t := b.t
	n := &t.nodes[i]
	id := n.id
	n.flags &^= repeats
	if before >= 0 || b.has != nil && b.has(id) {
		if before >= 0 {
			t.ids.insert(t.nodes, before)
		}
		put(&t.natives, i, id)
		n.id = b.repeat(id)
		n.flags |= derivedID
		t.ids.insert(t.nodes, i)
		b.follow(i, before, id)
		if b.repeated != nil {
			b.repeated(int(i), int(before))
		}
	}
	switch {
	case n.flags&ownMessage == 0:
	case t.before == nil && before < 0: // no entry has had the id
	case t.before == nil && t.nodes[before].flags&ownMessage != 0:
		b.notePiece(i, before)
	default:
		b.noteMessage(i, []byte(id))
	}
}

// settleAll settles the ids of the entries added so far, for a caller that needs ids or messages now.
func (b *Builder) settleAll() {
	if b.unsettled {
		b.index()
	}
}

// follow corrects the parents of entries that were added while entry i still had the id that it has now lost: these entries mean
// the one at before.
func (b *Builder) follow(i, before int32, id EntryID) {
	t := b.t
	for k := i + 1; int(k) < len(t.nodes); k++ {
		if l := &t.links[k]; l.parent == i && t.nodes[k].flags&inOrder == 0 {
			if l.parent = before; before < 0 {
				l.parent = orphaned
				put(&b.unresolved, k, id)
			}
		}
	}
}

// again handles an entry whose id an earlier entry has.
func (b *Builder) again(i, before int32) {
	t := b.t
	switch {
	case t.nodes[i].flags&derivedID != 0: // a derived id gives way
		t.ids.insert(t.nodes, before)
		t.nodes[i].id = b.derive(i)
		t.ids.insert(t.nodes, i)
		return
	case t.nodes[before].flags&derivedID != 0: // the earlier id was derived and gives way
		b.own()
		t.nodes[before].id = b.derive(before)
		t.ids.insert(t.nodes, before)
		return
	}
	b.duplicates = true
	n := &t.nodes[i]
	b.report(Problem{Line: int(n.line), Offset: n.offset, Kind: ProblemDuplicate,
		Message: fmt.Sprintf("entry id %q is already used on line %d", n.id, t.nodes[before].line),
		Advice:  "both entries are kept; the id means this one, the last"})
}

// repeat returns a free id for an entry whose own id is taken: the id followed by ~ and the first free number from 2 on.
func (b *Builder) repeat(id EntryID) EntryID {
	// Numbers up to the last one are taken.
	for k := max(2, b.repeats[string(id)]+1); ; k++ {
		next := EntryID(fmt.Sprintf("%s~%d", id, k))
		if b.t.ids.find(b.t.nodes, next) < 0 && (b.has == nil || !b.has(next)) {
			put(&b.repeats, string(id), k)
			return next
		}
	}
}

// hash identifies node i of the log. It is the same each time the log is read: it depends on the session, the position and
// the beginning of the record. FNV-1a is inlined, because in some families no entry has an id.
func (b *Builder) hash(i int32, record []byte) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	if id := b.t.header.ID; id != b.hashed.id || b.hashed.sum == 0 { // the same for nearly all nodes
		h := uint64(offset)
		for k := range len(id) {
			h = (h ^ uint64(id[k])) * prime
		}
		b.hashed.id, b.hashed.sum = id, h
	}
	h := b.hashed.sum
	position := uint64(i)
	if b.t.before != nil {
		position += uint64(b.t.before.Entries)
	}
	for k := range 8 {
		h = (h ^ position>>(8*k)&0xff) * prime
	}
	for _, c := range record[:min(len(record), 64)] {
		h = (h ^ uint64(c)) * prime
	}
	return h
}

// hexOf makes eight hex digits from a hash, the form of the agents' ids.
func hexOf(h uint64) []byte {
	hex := make([]byte, 8)
	for k := range hex {
		hex[k] = "0123456789abcdef"[uint32(h>>32^h)>>(28-4*k)&0xf]
	}
	return hex
}

// derive returns a free id for node i. It depends on the log alone.
func (b *Builder) derive(i int32) EntryID {
	for h := b.hash(i, nil); ; h = h*6364136223846793005 + 1442695040888963407 {
		if id := b.keep(hexOf(h)); b.t.ids.find(b.t.nodes, id) < 0 {
			return id
		}
	}
}
