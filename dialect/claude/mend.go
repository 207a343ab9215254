package claude

import (
	"fmt"
	"slices"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Mender = (*reader)(nil)

// mostWalks limits how many paths of entries beside the path to the leaf are walked: each walk reads the marks of the whole log.
const mostWalks = 1000

// Mends implements dialect.Mender. First it links lost parents again. When none is lost, it sets the leaf if the program would end
// before the newest messages or refuse the session.
func (r *reader) Mends(t *session.Tree) []dialect.Mend {
	leaf, ok := t.Leaf()
	if !ok {
		return nil
	}
	m := mender{omissions: omissions{shape: r.shapeOf(t, leaf.Index), at: make([]int32, t.Len()), leaf: true}, linked: map[int32]int32{}}
	path, gaps := m.walk(int32(leaf.Index))
	for k, i := range path {
		m.at[i] = int32(k) + 1
	}
	for _, g := range gaps {
		m.link(g, &m.omissions, func(i int32) bool { return m.at[i] > 0 })
	}
	m.group()
	m.orphans()
	if len(m.list) == 0 {
		m.lead(leaf)
	}
	return m.list
}

// mender collects changes.
type mender struct {
	omissions
	list   []dialect.Mend
	linked map[int32]int32 // entry → its new parent
	// whole is a union-find forest of entries whose parents, with the new ones, lead to the same root or cycle: whole[i] is an entry
	// of the same set. looped are the sets with a cycle. Both are nil until the path to the leaf is linked.
	whole  []int32
	looped map[int32]bool
}

// group joins the entries into sets.
func (m *mender) group() {
	m.whole, m.looped = make([]int32, len(m.marks)), map[int32]bool{}
	for i := range m.whole {
		m.whole[i] = int32(i)
	}
	for i := range int32(len(m.whole)) {
		if p := m.above(i); p >= 0 {
			a, b := m.wholeOf(i), m.wholeOf(p)
			m.whole[a], m.looped[b] = b, a == b || m.looped[b]
		}
	}
}

// above returns the parent of an entry, or its new parent if it has one.
func (m *mender) above(i int32) int32 {
	if to, ok := m.linked[i]; ok {
		return to
	}
	return m.parent[i]
}

// descends reports whether an entry is top or a descendant of it. top is an orphan, so it is the root of its set.
func (m *mender) descends(i, top int32) bool {
	if m.whole != nil {
		at := m.wholeOf(i)
		return at == m.wholeOf(top) || m.looped[at]
	}
	for range m.marks {
		if i == top {
			return true
		}
		if i = m.above(i); i < 0 {
			return false
		}
	}
	return true
}

// wholeOf returns the representative of the set of an entry.
func (m *mender) wholeOf(i int32) int32 {
	for m.whole[i] != i {
		m.whole[i] = m.whole[m.whole[i]]
		i = m.whole[i]
	}
	return i
}

// orphans links entries beside the path to the leaf whose parents are missing.
func (m *mender) orphans() {
	b := bridges{shape: m.shape}
	o := omissions{shape: m.shape, at: make([]int32, len(m.marks))}
	walks := 0
	for i := range int32(len(m.marks)) {
		if m.at[i] > 0 || !m.live(i) || m.parent[i] != missing {
			continue
		}
		o.at[i] = 1 // o.at of all other entries is 0, so each may be the right parent
		m.link(gap{i, b.nearest(i)}, &o, func(right int32) bool {
			if walks++; walks > mostWalks {
				return false
			}
			path, _ := m.walk(i)
			return slices.Contains(path, right)
		})
		o.at[i] = 0
	}
}

// link gives an entry a parent that the program has: the entry at the end of the bridge if that loses nothing, else the
// nearest ancestor, else the entry before it in the log. on reports whether an entry is on the path to it.
func (m *mender) link(g gap, o *omissions, on func(int32) bool) {
	to := g.to
	if right, lost := o.right(g.child); right >= 0 && right != to && (to < 0 || lost || !on(right)) {
		to = right
	}
	e := m.t.At(int(g.child))
	// The program does not load the part of a large file before its last compaction, so another parent would not help.
	if parent, ok := m.t.Lookup(e.Parent); ok && m.skipped && m.marks[parent.Index].flags&isEntry != 0 {
		return
	}
	if to < 0 || m.marks[to].flags&isNameless != 0 || m.descends(to, g.child) {
		return
	}
	if m.linked[g.child] = to; m.whole != nil {
		m.whole[g.child] = m.wholeOf(to)
	}
	parent := m.t.At(int(to))
	kind, problem := session.ProblemOrphan, fmt.Sprintf("the program does not find its parent %q", e.Parent)
	if m.parent[g.child] >= 0 {
		kind, problem = session.ProblemCycle, "its parents lead back to it"
	}
	m.list = append(m.list, dialect.Mend{Entry: e.Index, Kind: kind, Problem: problem,
		Action: fmt.Sprintf("its parent becomes %s (line %d)", parent.ID, parent.Line),
		Edit:   func(record []byte) ([]byte, error) { return Claude.Rechain(record, parent.ID, "") }})
}

// lead makes the program end at the newest messages.
func (m *mender) lead(leaf session.Entry) {
	mend := dialect.Mend{Entry: len(m.marks) - 1, Kind: session.ProblemLeafTarget}
	switch {
	case m.r.refused.Load() == uint32(endsInAgent):
		m.name(mend, m.unnamed, true, "entries of a sub-agent follow the conversation: the program finds none")
	case m.r.refused.Load() == uint32(namesAgent):
		m.name(mend, m.unnamed, false, "the last-prompt line names an entry of a sub-agent: the program finds no conversation")
	case m.marks[leaf.Index].at == noTime:
		m.date(leaf)
	default:
		if m.newer(leaf); len(m.omissions.list) == 0 {
			return
		}
		to := m.unnamed
		if !m.byPrompt {
			below := m.below(int32(leaf.Index))
			for i := range int32(len(m.marks)) {
				if m.speaks(i) && m.marks[i].flags&(isSide|isNameless) == 0 && below(i) {
					to = i
				}
			}
		}
		m.name(mend, to, false, m.omissions.list[0].Message)
	}
}

// name appends a last-prompt line.
func (m *mender) name(mend dialect.Mend, to int32, explicit bool, problem string) {
	if to < 0 || m.marks[to].flags&isNameless != 0 {
		return
	}
	h, e := m.t.Header(), m.t.At(int(to))
	mend.Problem, mend.Action = problem, fmt.Sprintf("a last-prompt line with entry %s (line %d) is appended", e.ID, e.Line)
	mend.Append = [][]byte{lastPrompt(&h, e.ID, explicit)}
	m.list = append(m.list, mend)
}

// date sets the time of the last entry, without which the program finds no conversation: the entry's own time as a string, or that of
// the newest entry.
func (m *mender) date(leaf session.Entry) {
	newest := int64(noTime)
	for _, k := range m.marks {
		newest = max(newest, k.at)
	}
	if said, err := leaf.Time(); err == nil {
		if own, ok := said.Millis(); ok {
			newest = own
		}
	}
	if newest == noTime {
		return
	}
	at := dialect.ISO(time.UnixMilli(newest))
	m.list = append(m.list, dialect.Mend{Entry: leaf.Index, Kind: session.ProblemField,
		Problem: "the conversation ends with it, and it has no timestamp that can be read: the program finds no conversation",
		Action:  fmt.Sprintf("it gets the time %s", rawjson.Inside(at)),
		Edit:    func(record []byte) ([]byte, error) { return rawjson.Set(record, "timestamp", at), nil }})
}
