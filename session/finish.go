package session

import (
	"fmt"
	"slices"
	"sort"
)

// Finish resolves what needs the end of the log, reports what does not fit together and returns the tree. It may be called
// again after more entries were added, and returns the same tree.
func (b *Builder) Finish() *Tree {
	b.index()
	b.resolveLate()
	b.cutCycles()
	b.moveLeaf()
	b.navigate()
	for _, l := range b.targets[b.checked:] {
		if b.t.ids.find(b.t.nodes, l.id) < 0 && b.misses(l.node, l.id) {
			b.problemAt(l.node, ProblemLabelTarget, fmt.Sprintf("the label is for entry %q, which does not exist", l.id),
				"the label is kept and shows nowhere")
		}
	}
	b.checked = len(b.targets)
	if !b.finished {
		b.trim()
	}
	b.finished, b.owned = true, false
	return b.t
}

// own copies nodes and links before they change, if Finish has given out the tree: a context may be reading them.
func (b *Builder) own() {
	if b.finished && !b.owned {
		b.t.nodes, b.t.links = slices.Clone(b.t.nodes), slices.Clone(b.t.links)
		b.owned = true
	}
}

// misses reports whether no entry of the whole log has an id that was not found in the part that was read. It notes such an id.
func (b *Builder) misses(node int32, id EntryID) bool {
	if b.has != nil && b.has(id) {
		return false
	}
	b.missing = append(b.missing, missing{id, node})
	return true
}

func (b *Builder) resolveLate() {
	t := b.t
	if b.duplicates || len(b.unresolved) > 0 {
		b.own() // parents and flags change below
	}
	if b.duplicates {
		t.linked = 0
		// An id means the last entry that has it, even for children before that entry.
		for i := range t.nodes {
			l := &t.links[i]
			if l.parent >= 0 && t.nodes[i].flags&inOrder == 0 {
				l.parent = t.ids.find(t.nodes, t.nodes[l.parent].id)
				b.forward = b.forward || l.parent >= int32(i)
			}
		}
		b.duplicates = false
	}
	if len(b.unresolved) == 0 {
		return
	}
	t.linked = 0
	for i := range t.nodes { // in file order, like the Problems
		parent, ok := b.unresolved[int32(i)]
		if !ok {
			continue
		}
		if p := t.ids.find(t.nodes, parent); p >= 0 {
			t.links[i].parent = p
			b.forward = b.forward || p >= int32(i)
			continue
		}
		put(&t.orphans, int32(i), parent)
		if b.misses(int32(i), parent) {
			b.problemAt(int32(i), ProblemOrphan, fmt.Sprintf("the parent %q of entry %q does not exist", parent, t.nodes[i].id),
				"the entry is kept as a root; what came before it may be lost")
		}
	}
	b.unresolved = nil
}

// cutCycles finds cycles of parents. Each entry is visited once.
func (b *Builder) cutCycles() {
	t := b.t
	if !b.forward {
		return
	}
	b.forward = false
	const unseen, walking, done = 0, 1, 2
	state := make([]uint8, len(t.nodes))
	for i := range t.nodes {
		var trail []int32
		k := int32(i)
		for k >= 0 && state[k] == unseen {
			state[k] = walking
			trail = append(trail, k)
			k = t.links[k].parent
		}
		if k >= 0 && state[k] == walking {
			t.cyclic = true
			t.nodes[k].flags |= cutCycle
			b.problemAt(k, ProblemCycle, fmt.Sprintf("the parents of entry %q form a cycle", t.nodes[k].id),
				"all entries are kept; paths end at the first repeat")
		}
		for _, k := range trail {
			state[k] = done
		}
	}
}

// moveLeaf replays durable leaves: the last one with an existing target counts, unless entries follow it.
func (b *Builder) moveLeaf() {
	t := b.t
	last := t.lastMover(len(t.nodes) - 1)
	for k := range b.leafMoves[b.moved:] {
		m := &b.leafMoves[b.moved+k]
		at := t.ids.find(t.nodes, m.to)
		switch {
		case m.none:
			at = noParent
		case at < 0:
			m.before = b.leafBefore(m.after)
			at = m.before
			if !b.misses(m.after, m.to) {
				break
			}
			b.problemAt(m.after, ProblemLeafTarget, fmt.Sprintf("the leaf moves to entry %q, which does not exist", m.to),
				"the leaf before it is used")
		}
		if last <= m.after {
			t.leaf = at
		}
	}
	b.moved = len(b.leafMoves)
}

// leafBefore returns the leaf before the entry at i: the entry before it, or the target of the last good leaf move. The moves
// before i have been replayed.
func (b *Builder) leafBefore(i int32) int32 {
	t := b.t
	k := t.lastMover(int(i) - 1)
	if k < 0 || t.links[k].kind != KindLeaf {
		return k
	}
	n := sort.Search(len(b.leafMoves), func(n int) bool { return b.leafMoves[n].after >= k })
	m := &b.leafMoves[n]
	if m.none {
		return noParent
	}
	if at := t.ids.find(t.nodes, m.to); at >= 0 {
		return at
	}
	return m.before
}

// lastMover returns the last entry up to i that moves the leaf, or noParent.
func (t *Tree) lastMover(i int) int32 {
	for i >= 0 && t.nodes[i].flags&aside != 0 {
		i--
	}
	return int32(i)
}

// navigate lets the Navigator choose the leaf.
func (b *Builder) navigate() {
	t := b.t
	n, ok := t.codec.EntryCodec.(Navigator)
	if !ok || b.navigated == len(t.nodes) {
		return
	}
	b.navigated = len(t.nodes)
	if at := n.Leaf(t, int(t.leaf)); at >= noParent && at < len(t.nodes) {
		t.leaf = int32(at)
	}
}
