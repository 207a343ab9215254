package claude

import (
	"cmp"
	"slices"
	"sort"

	"github.com/treeline-dev/treeline/dialect/claude/request"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/sorting"
	"github.com/treeline-dev/treeline/session"
)

// Path implements session.Navigator. A missing parent is bridged, and the pieces of answers that stand beside the path are
// inserted.
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

// shapeOf returns the tree as the program sees it when it continues from an entry. If the program does not load the entry, shapeOf gives
// the tree without anything left out.
func (r *reader) shapeOf(t *session.Tree, to int) *shape {
	s := r.shape
	if s == nil || len(s.marks) != t.Len() || s.t != t {
		s, _, _ = r.lead(t)
	}
	if !s.live(int32(to)) && s.skipped {
		s = s.unskipped()
	}
	return s
}

// aside returns the path to a line that is not part of the conversation: its parents as the log has them.
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

// gap is an entry on a path whose parent is missing, and the entry that stands in for the parent, or root.
type gap struct{ child, to int32 }

// walk returns the path from a root to an entry, with bridges over its gaps.
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

// bridges finds the entries that stand in for missing parents. Entries of the same time form a group; in a group, the first one in
// the file that is not on the path is chosen. Each group has a cursor, and a link past groups that are used up, so that all
// bridges of a path together take linear time.
type bridges struct {
	*shape
	on []bool
	byTime
}

// byTime is the entries of the main conversation that have a time, in the order of time and position, and their groups.
type byTime struct {
	list   []int32
	groups []group
}

type group struct {
	at       int64
	from, to int // positions in the list
	skip     int // the group to try when this one is used up
}

// most is the greatest difference in milliseconds between an entry and an older one that stands in for its parent.
const most = 5000

// begin gives the time of an entry from which a bridge may lead, and groups the entries by time.
func (b *bridges) begin(i int32) (at int64, ok bool) {
	if at = b.marks[i].at; at == noTime || b.marks[i].flags&isSide != 0 {
		return 0, false
	}
	if b.groups == nil {
		b.byTime = b.times()
		b.groups = slices.Clone(b.groups) // their cursors move
	}
	return at, true
}

// from returns the entry to which a bridge from i leads, or root. No bridge leads from an entry of a sub-agent.
func (b *bridges) from(i int32) int32 {
	at, ok := b.begin(i)
	if !ok {
		return root
	}
	for g := b.usable(b.until(at)); g >= 0 && at-b.groups[g].at <= most; g = b.usable(g) {
		for gr := &b.groups[g]; gr.from < gr.to; gr.from++ {
			if to := b.list[gr.from]; !b.on[to] {
				return to
			}
		}
	}
	return root
}

// nearest returns the entry to which a bridge from i leads, or root, if only i is on the path.
func (b *bridges) nearest(i int32) int32 {
	at, ok := b.begin(i)
	if !ok {
		return root
	}
	for g := b.until(at); g >= 0 && at-b.groups[g].at <= most; g-- {
		for _, to := range b.list[b.groups[g].from:b.groups[g].to] {
			if to != i {
				return to
			}
		}
	}
	return root
}

// until returns the last group that is not later than a time, or -1.
func (b *bridges) until(at int64) int {
	return sort.Search(len(b.groups), func(k int) bool { return b.groups[k].at > at }) - 1
}

// usable returns the last group up to g that is not used up, or -1.
func (b *bridges) usable(g int) int {
	end := g
	for end >= 0 && b.groups[end].from == b.groups[end].to {
		end = b.groups[end].skip
	}
	for g > end { // path compression
		g, b.groups[g].skip = b.groups[g].skip, end
	}
	return end
}

// groupTimes sorts the entries to which a bridge may lead by time and position.
func (s *shape) groupTimes() (b byTime) {
	for i := range int32(len(s.marks)) {
		if m := s.marks[i]; s.live(i) && m.flags&(isSide|isOdd) == 0 && m.at != noTime {
			b.list = append(b.list, i)
		}
	}
	sorting.By(b.list, func(i, k int32) int { return cmp.Compare(s.marks[i].at, s.marks[k].at) })
	for k, i := range b.list {
		n := len(b.groups)
		if n == 0 || b.groups[n-1].at != s.marks[i].at {
			b.groups = append(b.groups, group{at: s.marks[i].at, from: k, to: k, skip: n - 1})
			n++
		}
		b.groups[n-1].to++
	}
	return b
}

// complete inserts the pieces of answers that stand beside a path. All lines of an answer follow its last line on the
// path. If a result of it, or a note below one, is beside the path, all its results and notes follow in file order.
func (s *shape) complete(path []int32) []int32 {
	at := map[int32]int32{} // answer → its last line on the path
	on := make([]bool, len(s.marks))
	for _, i := range path {
		on[i] = true
		if m := s.marks[i].message; m >= 0 {
			at[m] = i
		}
	}
	strays, taken := s.strays(path, at, on)
	place := s.places()
	beside := func(list []int32) []int32 {
		return slices.DeleteFunc(slices.Clone(list), func(i int32) bool { return on[i] || taken[i] })
	}
	put := map[int32][]int32{} // line → what is inserted after it
	moved := map[int32]bool{}
	for answer, last := range at {
		more := beside(s.pieces.of(answer))
		results := slices.Concat(beside(s.results.of(answer)), strays[answer])
		if had := s.results.of(answer); len(had)+len(results) > 0 {
			for _, i := range had {
				if on[i] {
					results = append(results, i)
				}
			}
			results = s.notes(results, s.pieces.of(answer), on)
		}
		if slices.ContainsFunc(results, func(i int32) bool { return !on[i] }) {
			sorting.By(results, func(i, k int32) int {
				if place != nil {
					i, k = place[i], place[k]
				}
				return cmp.Compare(i, k)
			})
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

// notes adds the descendants of an answer's lines and results that are not messages: attachments, system lines and texts that
// the program inserted. A note beside the path counts only if nothing but such notes is below it.
func (s *shape) notes(results, pieces []int32, on []bool) []int32 {
	var found []int32
	var below func(i int32) bool
	below = func(i int32) bool {
		from := len(found)
		for c := s.first[i]; c >= 0; c = s.next[c] {
			switch {
			case s.marks[c].flags&isSide != 0 || s.marks[c].flags&isResult != 0:
			case on[c] && s.marks[c].flags&isNote == 0:
			case !s.isNote(c) || !below(c) && !on[c]:
				found = found[:from]
				return false
			default:
				found = append(found, c)
			}
		}
		return true
	}
	for _, i := range slices.Concat(pieces, results) {
		for c := s.first[i]; c >= 0; c = s.next[c] {
			m := s.marks[c].flags
			if m&(isSide|isResult|isAssistant) == 0 && (!on[c] || m&isNote != 0) && s.isNote(c) {
				if from := len(found); below(c) || on[c] {
					found = append(found, c)
				} else {
					found = found[:from]
				}
			}
		}
	}
	return append(results, found...)
}

// isNote reports whether an entry is an attachment, a system line, or a text that the program inserted.
func (s *shape) isNote(i int32) bool {
	m := s.marks[i].flags
	if m&isUser == 0 || m&isResult != 0 {
		return m&isNote != 0
	}
	raw, err := s.t.At(int(i)).Raw()
	return err == nil && rawjson.Truthy(rawjson.Get(raw, "isMeta"))
}

// strays returns the results beside the path that are not descendants of the answer with their call, by the last answer on the path
// that has the call. A result before that answer belongs to an earlier call with the same id. taken are the results that are children
// of another answer.
func (s *shape) strays(path []int32, at map[int32]int32, on []bool) (strays map[int32][]int32, taken map[int32]bool) {
	var list []int32
	for i, m := range s.marks {
		if p := s.parent[i]; m.flags&isResult != 0 && !on[i] && s.live(int32(i)) && (p < 0 || s.marks[p].message < 0 || on[p]) {
			list = append(list, int32(i))
		}
	}
	if list == nil {
		return nil, nil
	}
	answers := map[string]int32{} // call → answer
	for _, i := range path {
		answer := s.marks[i].message
		if answer < 0 || at[answer] != i {
			continue
		}
		for _, k := range s.pieces.of(answer) {
			for _, id := range s.ids(k).calls {
				answers[id] = answer
			}
		}
	}
	strays, taken = map[int32][]int32{}, map[int32]bool{}
	for _, i := range list {
		for _, id := range s.ids(i).results {
			answer, ok := answers[id]
			if p := s.parent[i]; ok && i > s.pieces.of(answer)[0] && (p < 0 || s.marks[p].message != answer) {
				strays[answer] = append(strays[answer], i)
				taken[i] = true
				break
			}
		}
	}
	return strays, taken
}

// callIDs are the calls and the results of an entry, by call id.
type callIDs struct{ calls, results []string }

// ids returns the calls and the results of an entry; none if it cannot be read, which reading its message reports. It reads each entry
// once, because the same results are beside very many paths.
func (s *shape) ids(i int32) callIDs {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, known := s.called[i]
	if known {
		return found
	}
	e := s.t.At(int(i))
	raw, err := e.Raw()
	if err != nil {
		return found
	}
	if t := request.Read(e, raw); t != nil {
		found.calls, found.results = t.IDs()
	}
	s.called[i] = found
	return found
}
