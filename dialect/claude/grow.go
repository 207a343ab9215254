package claude

import "github.com/treeline-dev/treeline/session"

// tip is what Leaf found. With it the next leaf is found without reading the whole log again.
type tip struct {
	n        int // number of entries
	leaf     int32
	problems int  // number of problems of the tree
	whole    bool // no parent was missing, the last-prompt line did not choose the leaf, and the session was not refused
	large    bool // entries before the last compaction were left out
}

// note keeps what Leaf found.
func (r *reader) note(s *shape, leaf int32) {
	r.tip = tip{n: len(s.marks), leaf: leaf, problems: len(s.t.Problems()), whole: !s.byPrompt && r.refused.Load() == uint32(resumes), large: s.skipped}
	for i, p := range s.parent {
		if p == missing && s.live(int32(i)) {
			r.tip.whole = false
			break
		}
	}
}

// grown returns the leaf of a log that has grown at its end in the ordinary way: the parent of each new entry of the conversation is
// the leaf before it or another entry of the log, and nothing names another leaf. Otherwise ok is false.
func (r *reader) grown(t *session.Tree) (leaf int32, ok bool) {
	e := r.tip
	n := t.Len()
	if r.shape == nil || r.shape.t != t || !e.whole || e.leaf < 0 || n <= e.n || len(t.Problems()) != e.problems {
		return 0, false
	}
	if r.kept.set && !e.large && t.At(n-1).Span.End() > skipsFrom {
		return 0, false
	}
	leaf = e.leaf
	for i := e.n; i < n; i++ {
		m := r.marks[i].flags
		if m == 0 {
			continue
		}
		if m&isEntry == 0 || m&(isSide|isNameless|isBoundary|isSecond) != 0 || r.marks[i].at == noTime {
			return 0, false
		}
		entry := t.At(i)
		parent, ok := t.Lookup(entry.Parent)
		// A note can be the leaf only if a message is above it.
		if !ok || r.marks[parent.Index].flags&isEntry == 0 || e.large && int32(parent.Index) < r.kept.boundary || m&isNote != 0 && int32(parent.Index) != leaf || entry.ID == r.kept.anchor {
			return 0, false
		}
		leaf = int32(i)
	}
	if p := r.prompt; p.set && p.target != t.At(int(leaf)).ID {
		return 0, false
	}
	r.tip.n, r.tip.leaf = n, leaf
	return leaf, true
}
