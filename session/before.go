package session

import (
	"maps"
	"slices"
	"sort"
)

// Before describes the entries before a place in a log, so that a reader that continues there gives the same numbers of
// branches, labels and problems as one that reads the whole log.
type Before struct {
	// Entries and Problems are counts.
	Entries, Problems int
	// Ends are the branch tips in log order. Each begins with the last entry that says something, followed by the labels and
	// leaf moves below it: an entry below any of these continues that branch.
	Ends [][]EntryID
	// Last is the last entry. The next entry follows it if it names no parent.
	Last EntryID
	// Messages are the ids of the last messages, which may have more pieces; see Envelope.Message.
	Messages []string
	// Labels are the ids of the entries that have a label. Missing are the ids that entries name as parent or target and that no
	// entry has. Both are sorted.
	Labels, Missing []EntryID
}

// StartAfter says that the log is not read from its beginning. has reports whether an entry before that place has the id: an
// entry whose parent has such an id is not an orphan. Tips then counts the whole log; everything else covers only what was read.
func (b *Builder) StartAfter(p Before, has func(EntryID) bool) {
	b.t.before, b.has = &p, has
}

// SetSides says that an entry may follow the last one that is not Aside without naming it. Reading then cannot begin after an Aside entry.
func (b *Builder) SetSides() { b.sides = true }

// Position is the number of entries in the log so far, including those before the place where reading began.
func (b *Builder) Position() int {
	if b.t.before == nil {
		return len(b.t.nodes)
	}
	return b.t.before.Entries + len(b.t.nodes)
}

// Before describes the entries before offset, which is where a record begins. It is called after Finish. ok is false where
// later entries can change what these mean: where these name entries that stand after offset; after a leaf move where
// entries do not name their parents, since the parent of the next one may differ; and after an Aside entry if SetSides was called.
func (b *Builder) Before(offset int64) (p Before, ok bool) {
	t := b.t
	n := sort.Search(len(t.nodes), func(i int) bool { return t.nodes[i].offset >= offset })
	for i := range t.links[:n] {
		if t.links[i].parent >= int32(i) {
			return p, false
		}
	}
	later := func(node int32, id EntryID) bool { return int(node) < n && int(t.ids.find(t.nodes, id)) >= n }
	for _, l := range b.targets {
		if later(l.node, l.id) {
			return p, false
		}
	}
	for _, m := range b.leafMoves {
		if !m.none && later(m.after, m.to) {
			return p, false
		}
	}
	if b.sides && n > 0 && t.nodes[n-1].flags&aside != 0 {
		return p, false
	}
	if n > 0 && t.links[n-1].kind == KindLeaf && t.nodes[n-1].flags&(aside|inOrder) == inOrder {
		return p, false
	}
	if t.before != nil {
		p.Entries, p.Problems, p.Last, p.Missing = t.before.Entries, t.before.Problems, t.before.Last, slices.Clone(t.before.Missing)
	}
	if n > 0 {
		p.Last = t.nodes[n-1].id
	}
	p.Entries += n
	for i := range t.problems {
		if t.problems[i].Offset < offset {
			p.Problems++
		}
	}
	for _, m := range b.missing {
		if int(m.node) < n {
			p.Missing = append(p.Missing, m.id)
		}
	}
	slices.Sort(p.Missing)
	p.Missing, p.Labels, p.Ends, p.Messages = slices.Compact(p.Missing), b.labels(n), t.ends(n), b.recent(n)
	ends := 0 // number of ends that contain the last entry; more than one where its id was used before
	for _, end := range p.Ends {
		if slices.Contains(end, p.Last) {
			ends++
		}
	}
	return p, ends < 2
}

// LeafRead reports whether the leaf is among the entries that were read, or before the first entry. It is called after Finish.
// It is false only where reading began in the middle.
func (b *Builder) LeafRead() bool {
	t := b.t
	if t.before == nil {
		return true
	}
	last := t.lastMover(len(t.nodes) - 1)
	for _, m := range b.leafMoves {
		if m.after >= last && !m.none && t.ids.find(t.nodes, m.to) < 0 {
			return false
		}
	}
	return last >= 0
}

// Problems counts the problems of the whole log, including those before the place where reading began.
func (b *Builder) Problems() int {
	n := len(b.t.problems)
	if b.t.before != nil {
		n += b.t.before.Problems
	}
	return n
}

// Labelled reports whether any entry of the log has a label.
func (b *Builder) Labelled() bool { return len(b.labels(len(b.t.nodes))) > 0 }

// labels returns the entries that have a label once the first n entries are applied, sorted.
func (b *Builder) labels(n int) []EntryID {
	on := map[EntryID]bool{}
	if b.t.before != nil {
		for _, id := range b.t.before.Labels {
			on[id] = true
		}
	}
	for _, l := range b.targets {
		if int(l.node) >= n {
			break
		}
		if l.on {
			on[l.id] = true
		} else {
			delete(on, l.id)
		}
	}
	return slices.Sorted(maps.Keys(on))
}

// said reports whether an entry begins or continues a branch itself. Labels and leaf moves do not, nor do entries beside the
// conversation and results that belong to their parent.
func (t *Tree) said(i int) bool {
	kind := t.links[i].kind
	return kind != KindLabel && kind != KindLeaf && t.nodes[i].flags&(aside|joined) == 0
}

// Inline reports for each entry, by index, whether it stands beside the conversation or belongs to its parent, and no branch
// continues from it. A drawing does not show it as a branch.
func (t *Tree) Inline() []bool {
	_, below := t.tips(len(t.nodes))
	inline := make([]bool, len(t.nodes))
	for i := range inline {
		inline[i] = t.nodes[i].flags&(aside|joined) != 0 && !below[i]
	}
	return inline
}

// tips counts the branch tips among the first n entries. below[i] reports whether entry i has a descendant for which said is true.
func (t *Tree) tips(n int) (tips int, below []bool) {
	below = make([]bool, n)
	for i := n - 1; i >= 0; i-- {
		l := t.links[i]
		if t.said(i) && !below[i] {
			tips++
		}
		if p := int(l.parent); p >= 0 && p < n && (t.said(i) || below[i]) {
			below[p] = true
		}
	}
	return tips, below
}

// open returns the ends in t.before, and the index of the end that each of their entries belongs to. An end is nil if one of the
// first n entries continues it.
func (t *Tree) open(n int, below []bool) (ends [][]EntryID, of map[EntryID]int) {
	if t.before == nil {
		return nil, nil
	}
	of = map[EntryID]int{}
	for k := len(t.before.Ends) - 1; k >= 0; k-- { // the first of two ends with the same entry wins
		for _, id := range t.before.Ends[k] {
			of[id] = k
		}
	}
	for _, end := range t.before.Ends {
		ends = append(ends, slices.Clip(end)) // appending must not change t.before
	}
	for i := range n {
		if l := t.links[i]; l.parent == orphaned && (t.said(i) || below[i]) {
			if k, ok := of[t.orphans[int32(i)]]; ok {
				ends[k] = nil
			}
		}
	}
	return ends, of
}

// ends returns the branch tips once the first n entries are applied. The caller has checked that no parent stands after its child.
func (t *Tree) ends(n int) [][]EntryID {
	_, below := t.tips(n)
	ends, old := t.open(n, below)
	of := make([]int, n) // the index of the end that an entry belongs to, or -1
	for i := range n {
		l, id := t.links[i], t.nodes[i].id
		of[i] = -1
		switch {
		case below[i]:
		case t.said(i):
			of[i] = len(ends)
			ends = append(ends, []EntryID{id})
		case l.parent >= 0:
			of[i] = of[l.parent]
		case l.parent == orphaned:
			if k, ok := old[t.orphans[int32(i)]]; ok && ends[k] != nil {
				of[i] = k
			}
		}
		if k := of[i]; k >= 0 && !t.said(i) {
			ends[k] = append(ends[k], id)
		}
	}
	return slices.DeleteFunc(ends, func(end []EntryID) bool { return end == nil })
}
