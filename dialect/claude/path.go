package claude

import (
	"slices"
	"sort"

	"github.com/treeline-dev/treeline/session"
)

// Parents that are not a position.
const (
	root    = -1
	missing = -2 // a bridge leads to an entry shortly before
)

// shape is the tree as the program walks it.
type shape struct {
	r     *reader
	t     *session.Tree
	marks []mark
	// dead entries are hidden: a later line has the same uuid, or the file is so large that the program does not load
	// them.
	dead []bool
	// parent is without progress lines and with the kept messages of the last compaction moved behind its summary.
	parent      []int32
	first, next []int32 // children, in file order
	anchor      int32   // the entry that the kept messages follow, or -1
	kept        []int32
	byTime      []int32 // main entries that have a time, in order of time and position
	pieces      map[int32][]int32
	results     map[int32][]int32 // answer → its results
}

// skipsFrom is the size from which on the program does not load what stands before the last compaction.
const skipsFrom = 5 << 20

// newShape works out the tree. With skip set it leaves out what the program does not load of a large file.
func newShape(r *reader, t *session.Tree, skip bool) *shape {
	n := t.Len()
	s := &shape{r: r, t: t, marks: r.marks[:n:n], dead: make([]bool, n), parent: make([]int32, n), anchor: -1}
	for i := range n {
		if s.marks[i].flags&(isEntry|isProgress) == 0 || !s.current(i) {
			s.dead[i] = true
		}
	}
	s.keep()
	if skip && n > 0 && r.kept.set && t.At(n-1).Span.End() > skipsFrom {
		for i := range r.kept.boundary {
			if s.marks[i].flags&isProgress == 0 && !slices.Contains(s.kept, i) {
				s.dead[i] = true
			}
		}
	}
	for i := range n {
		s.parent[i] = root
		if !s.dead[i] {
			s.parent[i] = s.above(i)
		}
	}
	s.move()
	s.link()
	s.sort()
	return s
}

// current reports whether no later entry has the same uuid.
func (s *shape) current(i int) bool {
	e := s.t.At(i)
	if s.marks[i].flags&isNameless != 0 {
		return true
	}
	last, ok := s.t.Lookup(e.ID)
	return ok && last.Index == i
}

// live reports whether the program has the entry.
func (s *shape) live(i int32) bool { return !s.dead[i] && s.marks[i].flags&isEntry != 0 }

// find gives the position of an entry that the program has, or missing.
func (s *shape) find(id session.EntryID) int32 {
	if e, ok := s.t.Lookup(id); ok && s.live(int32(e.Index)) {
		return int32(e.Index)
	}
	return missing
}

// above gives the parent of an entry as it is written, past progress lines.
func (s *shape) above(i int) int32 {
	for range s.t.Len() { // progress lines may form a cycle
		id := s.t.At(i).Parent
		if id == "" {
			return root
		}
		e, ok := s.t.Lookup(id)
		switch {
		case !ok || s.dead[e.Index]:
			return missing
		case s.marks[e.Index].flags&isProgress == 0:
			return int32(e.Index)
		}
		i = e.Index
	}
	return missing
}

// keep finds the messages that the last compaction keeps.
func (s *shape) keep() {
	k := s.r.kept
	if !k.set {
		return
	}
	anchor := s.find(k.anchor)
	if anchor < 0 {
		return
	}
	if len(k.uuids) > 0 {
		for _, id := range k.uuids {
			if at := s.find(id); at >= 0 {
				s.kept = append(s.kept, at)
			}
		}
	} else {
		s.kept = s.chain(k.head, k.tail)
	}
	if len(s.kept) > 0 {
		s.anchor = anchor
	}
}

// chain gives the entries from head to tail, nil where tail is not below head.
func (s *shape) chain(head, tail session.EntryID) []int32 {
	var list []int32
	at := s.find(tail)
	for range s.t.Len() {
		if at < 0 {
			return nil
		}
		list = append(list, at)
		if s.t.At(int(at)).ID == head {
			slices.Reverse(list)
			return list
		}
		at = s.find(s.t.At(int(at)).Parent)
	}
	return nil
}

// move hangs the kept messages on their anchor, and the other children of the anchor on the last of them.
func (s *shape) move() {
	if s.anchor < 0 {
		return
	}
	tail := s.kept[len(s.kept)-1]
	for i := range s.parent {
		if s.parent[i] == s.anchor {
			s.parent[i] = tail
		}
	}
	for k, i := range s.kept {
		s.parent[i] = s.anchor
		if k > 0 {
			s.parent[i] = s.kept[k-1]
		}
	}
}

// link makes the lists of children.
func (s *shape) link() {
	n := len(s.parent)
	s.first, s.next = slices.Repeat([]int32{-1}, n), slices.Repeat([]int32{-1}, n)
	for i := n - 1; i >= 0; i-- {
		if p := s.parent[i]; p >= 0 && s.live(int32(i)) {
			s.next[i], s.first[p] = s.first[p], int32(i)
		}
	}
}

// sort orders the entries that a bridge may lead to, and collects the pieces of answers.
func (s *shape) sort() {
	s.pieces, s.results = map[int32][]int32{}, map[int32][]int32{}
	for i := range int32(len(s.marks)) {
		m := s.marks[i]
		if !s.live(i) {
			continue
		}
		if m.flags&isSide == 0 && m.at != noTime {
			s.byTime = append(s.byTime, i)
		}
		if m.message >= 0 {
			s.pieces[m.message] = append(s.pieces[m.message], i)
		}
	}
	for i := range int32(len(s.marks)) {
		if p := s.parent[i]; s.live(i) && s.marks[i].flags&isResult != 0 && p >= 0 && s.marks[p].message >= 0 {
			answer := s.marks[p].message
			s.results[answer] = append(s.results[answer], i)
		}
	}
	sort.SliceStable(s.byTime, func(a, b int) bool { return s.marks[s.byTime[a]].at < s.marks[s.byTime[b]].at })
}

// lastEntry gives the last line of the conversation that ok accepts, or -1.
func (s *shape) lastEntry(ok func(mark) bool) int32 {
	for i := int32(len(s.marks)) - 1; i >= 0; i-- {
		if m := s.marks[i]; s.live(i) && m.flags&(isSide|isNameless) == 0 && ok(m) {
			return i
		}
	}
	return -1
}

// latest gives the message with the greatest time, or -1.
func (s *shape) latest() int32 {
	best := int32(-1)
	for i := range int32(len(s.marks)) {
		m := s.marks[i]
		if s.live(i) && m.flags&(isSide|isNameless) == 0 && m.flags&(isUser|isAssistant) != 0 && (best < 0 || m.at > s.marks[best].at) {
			best = i
		}
	}
	return best
}

// newest gives the entry with the greatest time among an entry and its descendants. The place of the anchor is that of
// the last kept message.
func (s *shape) newest(from int32) int32 {
	best := from
	seen := map[int32]bool{from: true} // a cycle of parents
	for stack := []int32{from}; len(stack) > 0; {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		m, b := s.marks[i], s.marks[best]
		if i == from || m.flags&isSide == 0 {
			if m.at > b.at || m.at == b.at && i < best && best != from {
				best = i
			}
		}
		for c := s.first[i]; c >= 0; c = s.next[c] {
			if !seen[c] {
				seen[c] = true
				stack = append(stack, c)
			}
		}
	}
	if best == s.anchor {
		return s.kept[len(s.kept)-1]
	}
	return best
}

// written gives the entries on the path to an entry without bridges.
func (s *shape) written(to int32) map[int32]bool {
	path := map[int32]bool{}
	for i := to; i >= 0 && !path[i]; i = s.parent[i] {
		path[i] = true
	}
	return path
}

// talks reports whether a message stands on the path to an entry.
func (s *shape) talks(to int32) bool {
	for i := range s.written(to) {
		if s.marks[i].flags&(isUser|isAssistant) != 0 {
			return true
		}
	}
	return false
}

// Path implements session.Navigator. A missing parent is bridged, and the pieces of answers that stand beside the path are
// put in.
func (r *reader) Path(t *session.Tree, to int) []int {
	s := r.shape
	if s == nil || len(s.marks) != t.Len() || s.t != t {
		s = newShape(r, t, true)
	}
	if !s.live(int32(to)) {
		if s = newShape(r, t, false); !s.live(int32(to)) {
			return aside(t, to)
		}
	}
	path := s.complete(s.walk(int32(to)))
	out := make([]int, len(path))
	for k, i := range path {
		out[k] = int(i)
	}
	return out
}

// aside gives the path to a line that is not part of the conversation: the parents as they are written.
func aside(t *session.Tree, to int) []int {
	path, seen := []int{to}, map[int]bool{to: true}
	for e := t.At(to); e.Parent != ""; {
		parent, ok := t.Lookup(e.Parent)
		if !ok || seen[parent.Index] {
			break
		}
		seen[parent.Index] = true
		path = append(path, parent.Index)
		e = parent
	}
	slices.Reverse(path)
	return path
}

// walk gives the path from a root to an entry, with bridges.
func (s *shape) walk(to int32) []int32 {
	on := make([]bool, len(s.marks))
	b := bridges{shape: s, on: on}
	var path []int32
	for i := to; i >= 0; {
		on[i] = true
		path = append(path, i)
		p := s.parent[i]
		if p == missing || p >= 0 && on[p] {
			p = b.from(i)
		}
		i = p
	}
	slices.Reverse(path)
	return path
}

// bridges finds the entries that stand in for missing parents. Entries of one time form a group; of a group the first in
// the file that is not on the path is chosen. A cursor for each group and a link over groups that are used up make all
// bridges of a path together linear.
type bridges struct {
	*shape
	on     []bool
	groups []group
}

type group struct {
	at       int64
	from, to int // positions in byTime
	skip     int // group to look at where this one is used up
}

// most is how much older than its child the other end of a bridge may be, in milliseconds.
const most = 5000

// from gives the entry that a bridge from i leads to, or root.
func (b *bridges) from(i int32) int32 {
	at := b.marks[i].at
	if at == noTime {
		return root
	}
	if b.groups == nil {
		b.group()
	}
	g := sort.Search(len(b.groups), func(k int) bool { return b.groups[k].at > at }) - 1
	for g = b.usable(g); g >= 0 && at-b.groups[g].at <= most; g = b.usable(g) {
		for gr := &b.groups[g]; gr.from < gr.to; gr.from++ {
			if to := b.byTime[gr.from]; !b.on[to] {
				return to
			}
		}
	}
	return root
}

// usable gives the last group up to g that is not used up.
func (b *bridges) usable(g int) int {
	end := g
	for end >= 0 && b.groups[end].from == b.groups[end].to {
		end = b.groups[end].skip
	}
	for g > end { // the next search is short
		g, b.groups[g].skip = b.groups[g].skip, end
	}
	return end
}

func (b *bridges) group() {
	for k, i := range b.byTime {
		n := len(b.groups)
		if n == 0 || b.groups[n-1].at != b.marks[i].at {
			b.groups = append(b.groups, group{at: b.marks[i].at, from: k, to: k, skip: n - 1})
			n++
		}
		b.groups[n-1].to++
	}
}

// complete puts the pieces of answers into a path that stand beside it. All lines of an answer follow its last line on the
// path. Where a result of it is beside the path, all its results follow in file order.
func (s *shape) complete(path []int32) []int32 {
	at := map[int32]int32{} // answer → its last line on the path
	on := make([]bool, len(s.marks))
	for _, i := range path {
		on[i] = true
		if m := s.marks[i].message; m >= 0 {
			at[m] = i
		}
	}
	put := map[int32][]int32{} // line → what follows it
	moved := map[int32]bool{}
	for answer, last := range at {
		beside := func(list []int32) (out []int32) {
			for _, i := range list {
				if !on[i] {
					out = append(out, i)
				}
			}
			return out
		}
		more := beside(s.pieces[answer])
		if results := s.results[answer]; len(beside(results)) > 0 {
			for _, i := range results {
				moved[i] = on[i]
			}
			more = append(more, results...)
		}
		put[last] = more
	}
	out := make([]int32, 0, len(path))
	for _, i := range path {
		if !moved[i] {
			out = append(out, i)
		}
		if s.marks[i].message >= 0 {
			out = append(out, put[i]...)
			delete(put, i)
		}
	}
	return out
}
