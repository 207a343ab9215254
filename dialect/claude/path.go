package claude

import (
	"cmp"
	"slices"
	"sort"

	"github.com/treeline-dev/treeline/session"
)

// Path implements session.Navigator. A missing parent is bridged, and the pieces of answers that stand beside the path are
// put in.
func (r *reader) Path(t *session.Tree, to int) []int {
	s := r.shapeOf(t, to)
	if !s.live(int32(to)) {
		return aside(t, to)
	}
	path, _ := s.walk(int32(to))
	path = s.complete(path)
	out := make([]int, len(path))
	for k, i := range path {
		out[k] = int(i)
	}
	return out
}

// shapeOf gives the tree as the program sees it when it goes on from an entry. One that it does not load because the file
// is large is seen as in a small file.
func (r *reader) shapeOf(t *session.Tree, to int) *shape {
	s := r.shape
	if s == nil || len(s.marks) != t.Len() || s.t != t {
		s, _, _ = r.lead(t)
	}
	if !s.live(int32(to)) && s.skipped {
		s = newShape(r, t, false)
	}
	return s
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

// gap is an entry on a path whose parent is missing, and the entry before it on the path, or root.
type gap struct{ child, to int32 }

// walk gives the path from a root to an entry, with bridges over its gaps.
func (s *shape) walk(to int32) (path []int32, gaps []gap) {
	on := make([]bool, len(s.marks))
	b := bridges{shape: s, on: on}
	for i := to; i >= 0; {
		on[i] = true
		path = append(path, i)
		p := s.parent[i]
		if p == missing || p >= 0 && on[p] {
			p = b.from(i)
			gaps = append(gaps, gap{i, p})
		}
		i = p
	}
	slices.Reverse(path)
	return path, gaps
}

// bridges finds the entries that stand in for missing parents. Entries of one time form a group; of a group the first in
// the file that is not on the path is chosen. A cursor for each group and a link over groups that are used up make all
// bridges of a path together linear.
type bridges struct {
	*shape
	on     []bool
	byTime []int32 // main entries that have a time
	groups []group
}

type group struct {
	at       int64
	from, to int // positions in byTime
	skip     int // group to look at where this one is used up
}

// most is how much older than its child the other end of a bridge may be, in milliseconds.
const most = 5000

// from gives the entry that a bridge from i leads to, or root. None leads from an entry of a sub-agent.
func (b *bridges) from(i int32) int32 {
	at := b.marks[i].at
	if at == noTime || b.marks[i].flags&isSide != 0 {
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

// group orders the entries that a bridge may lead to by time and position.
func (b *bridges) group() {
	for i := range int32(len(b.marks)) {
		if m := b.marks[i]; b.live(i) && m.flags&(isSide|isOdd) == 0 && m.at != noTime {
			b.byTime = append(b.byTime, i)
		}
	}
	slices.SortStableFunc(b.byTime, func(i, k int32) int { return cmp.Compare(b.marks[i].at, b.marks[k].at) })
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
// path. Where a result of it is beside the path, all its results follow in file order, wherever they hang.
func (s *shape) complete(path []int32) []int32 {
	at := map[int32]int32{} // answer → its last line on the path
	on := make([]bool, len(s.marks))
	for _, i := range path {
		on[i] = true
		if m := s.marks[i].message; m >= 0 {
			at[m] = i
		}
	}
	strays := s.strays(at, on)
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
		more := beside(s.pieces.of(answer))
		results := s.results.of(answer)
		if list := strays[answer]; len(list) > 0 {
			results = slices.Concat(results, list)
			slices.Sort(results)
		}
		if len(beside(results)) > 0 {
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

// strays gives the results beside the path that do not hang on an answer, by the answer on the path whose call they answer.
// One that stands before the answer belongs to an earlier call with the same id.
func (s *shape) strays(at map[int32]int32, on []bool) map[int32][]int32 {
	var list []int32
	for i, m := range s.marks {
		if p := s.parent[i]; m.flags&isResult != 0 && !on[i] && s.live(int32(i)) && (p < 0 || s.marks[p].message < 0) {
			list = append(list, int32(i))
		}
	}
	if list == nil {
		return nil
	}
	answers := map[string]int32{} // call → answer
	for answer := range at {
		for _, k := range s.pieces.of(answer) {
			for _, b := range s.blocks(k) {
				if b.kind == blockCall {
					answers[b.id] = answer
				}
			}
		}
	}
	strays := map[int32][]int32{}
	for _, i := range list {
		for _, b := range s.blocks(i) {
			if answer, ok := answers[b.id]; ok && b.kind == blockResult && i > s.pieces.of(answer)[0] {
				strays[answer] = append(strays[answer], i)
				break
			}
		}
	}
	return strays
}

// blocks gives the blocks of an entry; none where it cannot be read, which its message tells.
func (s *shape) blocks(i int32) []block {
	e := s.t.At(int(i))
	raw, err := e.Raw()
	if err != nil {
		return nil
	}
	if t := turnOf(e, raw); t != nil {
		return t.blocks
	}
	return nil
}
