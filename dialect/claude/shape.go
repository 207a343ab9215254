package claude

import (
	"slices"
	"sync"

	"github.com/treeline-dev/treeline/session"
)

// Parents that are not a position.
const (
	root    = -1
	missing = -2 // the parent does not exist; a bridge stands in for it
)

// shape is the tree as the program sees it.
type shape struct {
	r     *reader
	t     *session.Tree
	marks []mark
	// dead marks lines that the program does not have: a later line has the same uuid, the program does not load them because the
	// file is large, or they stand before a compaction that keeps other messages.
	dead []bool
	// parent skips progress lines, and the kept messages of the last compaction are moved behind its summary.
	parent      []int32
	first, next []int32 // children, in file order
	anchor      int32   // the entry that the kept messages follow, or missing
	kept        []int32
	pieces      groups          // answer → its lines
	results     groups          // answer → its results
	byPrompt    bool            // the last-prompt line chose the leaf
	unnamed     int32           // the leaf if there were no last-prompt lines
	past        map[int32]int32 // progress line → the first line above it that is not one
	again       bool            // a uuid occurs more than once
	blanks      bool            // more than one entry has no uuid
	skipped     bool            // entries before the last compaction were left out
	unskipped   func() *shape   // the shape with skipped unset, made once: each compaction before the last one has its own path
	rehung      []int32         // entries whose parent was left out and is now the last kept message
	times       func() byTime   // made once: a session may have as many paths as entries

	mu     sync.Mutex
	called map[int32]callIDs // see ids
}

// skipsFrom is the file size from which the program does not load what stands before the last compaction.
const skipsFrom = 5 << 20

// newShape computes the tree. If skip is set, it leaves out what the program forgets, or does not load from a large file.
func newShape(r *reader, t *session.Tree, skip bool) *shape {
	n := t.Len()
	s := &shape{r: r, t: t, marks: r.marks[:n:n], dead: make([]bool, n), parent: make([]int32, n), anchor: -1, past: map[int32]int32{}}
	s.times, s.called = sync.OnceValue(s.groupTimes), map[int32]callIDs{}
	s.again = slices.ContainsFunc(t.Problems(), func(p session.Problem) bool { return p.Kind == session.ProblemDuplicate })
	unnamed := map[flags]bool{}
	for i := n - 1; i >= 0; i-- {
		m := s.marks[i].flags
		s.dead[i] = m&(isEntry|isProgress) == 0 || s.again && !s.current(i)
		if m&isEntry != 0 && m&isNameless != 0 { // to the program they all have the same uuid, either none or the empty one
			s.dead[i], unnamed[m&isUnnamed] = unnamed[m&isUnnamed], true
			s.blanks = s.blanks || s.dead[i]
		}
	}
	s.keep()
	// After a compaction has kept messages, the program forgets what stands before the last compaction, except for what that one
	// keeps. From a large file it does not even load that part.
	stays := make([]bool, n)
	for _, i := range s.kept {
		stays[i] = true
	}
	large := n > 0 && t.At(n-1).Span.End() > skipsFrom
	if skip && r.kept.set && (large || len(s.kept) > 0 || r.kept.again) {
		s.skipped, s.unskipped = true, sync.OnceValue(func() *shape { return newShape(r, t, false) })
		for i := range r.kept.boundary {
			s.dead[i] = s.dead[i] || s.marks[i].flags&isProgress == 0 && !stays[i]
		}
	}
	for i := range n {
		s.parent[i] = root
		if s.dead[i] {
			continue
		}
		s.parent[i] = s.above(i)
		if s.skipped && !large && len(s.kept) > 0 && s.parent[i] == missing && !stays[i] && s.forgotten(i) {
			s.parent[i] = s.kept[len(s.kept)-1]
			s.rehung = append(s.rehung, int32(i))
		}
	}
	written := s.parent
	if s.anchor >= 0 {
		written = slices.Clone(s.parent)
	}
	s.move()
	s.link()
	s.sort(written)
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

// find returns the position of an entry that the program has, or missing.
func (s *shape) find(id session.EntryID) int32 {
	if e, ok := s.t.Lookup(id); ok && s.live(int32(e.Index)) {
		return int32(e.Index)
	}
	return missing
}

// above returns the parent of an entry as the log has it, skipping progress lines.
func (s *shape) above(i int) int32 {
	at := s.end(i)
	if at >= 0 && s.dead[at] {
		return missing
	}
	return at
}

// end returns the first line above an entry that is not a progress line, even one that the program does not have. It notes
// where each progress line leads, so that long chains are walked only once.
func (s *shape) end(i int) int32 {
	at, trail := int32(s.t.Above(i)), []int32(nil)
	for at >= 0 && s.marks[at].flags&isProgress != 0 && !s.dead[at] {
		if to, ok := s.past[at]; ok {
			at = to
			break
		}
		s.past[at] = missing // a cycle of progress lines ends here
		trail = append(trail, at)
		at = int32(s.t.Above(int(at)))
	}
	for _, k := range trail {
		s.past[k] = at
	}
	return at
}

// up returns the entry or progress line that a line names as its parent.
func (s *shape) up(i int) int32 {
	switch at := s.t.Above(i); {
	case at == -1:
		return root
	case at >= 0 && !s.dead[at]:
		return int32(at)
	}
	return missing
}

// forgotten reports whether the parent of an entry stands before the last compaction.
func (s *shape) forgotten(i int) bool {
	at := s.end(i)
	return at >= 0 && s.marks[at].flags&isEntry != 0 && at < s.r.kept.boundary
}

// keep finds the messages that the last compaction keeps.
func (s *shape) keep() {
	k := s.r.kept
	if !k.set {
		return
	}
	if len(k.uuids) > 0 {
		for _, id := range k.uuids {
			at := s.find(id)
			if at < 0 { // if one is missing, nothing is kept
				s.kept = nil
				break
			}
			s.kept = append(s.kept, at)
		}
	} else {
		s.kept = s.chain(k.head, k.tail)
	}
	if len(s.kept) > 0 {
		s.anchor = s.find(k.anchor)
	}
}

// chain returns the entries from head to tail, nil if tail is not below head.
func (s *shape) chain(head, tail session.EntryID) []int32 {
	var list []int32
	at := s.find(tail)
	for range s.t.Len() {
		if at < 0 {
			return nil
		}
		if s.marks[at].flags&isProgress == 0 {
			list = append(list, at)
		}
		if s.t.At(int(at)).ID == head {
			slices.Reverse(list)
			return list
		}
		at = s.up(int(at))
	}
	return nil
}

// move makes the kept messages descendants of their anchor, and the other children of the anchor children of the last kept message.
// If the anchor is missing, the first kept message has no parent.
func (s *shape) move() {
	if len(s.kept) == 0 {
		return
	}
	tail := s.kept[len(s.kept)-1]
	for i := range s.parent {
		if s.anchor >= 0 && s.parent[i] == s.anchor {
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

// sort collects the pieces and the results of answers. written holds the parents before kept messages were moved.
func (s *shape) sort(written []int32) {
	n := len(s.marks)
	of := make([]int32, n)
	for i := range int32(n) {
		if of[i] = -1; s.live(i) {
			of[i] = s.marks[i].message
		}
	}
	place := s.places()
	s.pieces = groupBy(of, place)
	for i := range int32(n) {
		// A result that a compaction keeps still belongs to its call.
		p := written[i]
		if of[i] = -1; s.live(i) && s.marks[i].flags&isResult != 0 && p >= 0 {
			of[i] = s.marks[p].message
		}
	}
	s.results = groupBy(of, place)
}

// places returns for each entry the position of the first line with its uuid: a line that is written again keeps its place.
// It gives nil if no uuid occurs twice.
func (s *shape) places() []int32 {
	if !s.again && !s.blanks {
		return nil
	}
	place := make([]int32, len(s.marks))
	blank := map[flags]int32{} // the last entry without a uuid, or with an empty one
	for i := range place {
		place[i] = int32(i)
		if m := s.marks[i].flags; s.live(int32(i)) && m&isNameless != 0 {
			blank[m&isUnnamed] = int32(i)
		}
	}
	for i := len(place) - 1; i >= 0; i-- {
		m := s.marks[i].flags
		switch {
		case m&isEntry == 0:
		case m&isNameless != 0:
			place[blank[m&isUnnamed]] = int32(i)
		case s.again:
			if last, ok := s.t.Lookup(s.t.At(i).ID); ok {
				place[last.Index] = int32(i)
			}
		}
	}
	return place
}

// groups holds positions by answer, in file order. They share one list, because most answers have one line.
type groups struct{ begin, list []int32 }

// groupBy groups the positions i by of[i]. A position with of[i] = -1 is in no group. A group is in the order of place[i], or of i
// if place is nil.
func groupBy(of, place []int32) (g groups) {
	if place != nil {
		from := slices.Repeat([]int32{-1}, len(of))
		for i, k := range of {
			if k >= 0 {
				from[place[i]] = int32(i)
			}
		}
		moved := slices.Repeat([]int32{-1}, len(of))
		for p, i := range from {
			if i >= 0 {
				moved[p] = of[i]
			}
		}
		g = groupBy(moved, nil)
		for k, p := range g.list {
			g.list[k] = from[p]
		}
		return g
	}
	most := int32(-1)
	for _, k := range of {
		most = max(most, k)
	}
	g.begin = make([]int32, most+2)
	for _, k := range of {
		if k >= 0 {
			g.begin[k+1]++
		}
	}
	for k := range most + 1 {
		g.begin[k+1] += g.begin[k]
	}
	g.list = make([]int32, g.begin[most+1])
	for i := int32(len(of)) - 1; i >= 0; i-- { // from the end, so that begin of the next group moves down to its own
		if k := of[i]; k >= 0 {
			g.begin[k+1]--
			g.list[g.begin[k+1]] = i
		}
	}
	return groups{append(g.begin[1:], int32(len(g.list))), g.list}
}

// of returns the positions of an answer.
func (g groups) of(answer int32) []int32 {
	if answer < 0 || int(answer)+1 >= len(g.begin) {
		return nil
	}
	return g.list[g.begin[answer]:g.begin[answer+1]]
}

// lastEntry returns the last entry that has none of these flags, or -1.
func (s *shape) lastEntry(without flags) int32 {
	for i := int32(len(s.marks)) - 1; i >= 0; i-- {
		if s.live(i) && s.marks[i].flags&without == 0 {
			return i
		}
	}
	return -1
}

// latest returns the message with the greatest time, or -1.
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

// newest returns the entry with the greatest time among an entry and its descendants. Among those with the same time it is the last
// descendant in the file. If it is the anchor of kept messages, newest gives the last kept message.
func (s *shape) newest(from int32) int32 {
	best := from
	seen := make([]bool, len(s.marks)) // guards against a cycle of parents
	seen[from] = true
	for stack := []int32{from}; len(stack) > 0; {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		m, b := s.marks[i], s.marks[best]
		if i == from || m.flags&isSide == 0 {
			if m.at > b.at || m.at == b.at && (i > best || best == from) {
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
	if best == s.anchor && len(s.kept) > 0 {
		return s.kept[len(s.kept)-1]
	}
	return best
}

// written reports for each entry whether it is on the path to an entry, without bridges.
func (s *shape) written(to int32) []bool {
	path := make([]bool, len(s.parent))
	for i := to; i >= 0 && !path[i]; i = s.parent[i] {
		path[i] = true
	}
	return path
}

// talks reports whether there is a message on the path to an entry.
func (s *shape) talks(to int32) bool {
	i := to
	for range s.parent { // limits a cycle of parents
		if i < 0 || s.marks[i].flags&(isUser|isAssistant) != 0 {
			break
		}
		i = s.parent[i]
	}
	return i >= 0 && s.marks[i].flags&(isUser|isAssistant) != 0
}
