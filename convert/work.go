package convert

import "github.com/treeline-dev/treeline/session"

// most and more limit the work: paths that share much are read again for each tip, and for each compaction. A branch beyond these limits is
// carried along. A path of more than most stretches is not restored.
const most = 64

var more = 100_000 // a test sets it

// weight returns the cost of reading an entry.
func weight(e session.Entry) int { return 1 + int(e.Span.Length/2048) }

// cost returns the cost of reading the context at the end of a path whose last compaction is at a position, and of walking along the path.
func (s *script) cost(path session.Path, at int) int {
	if path.Len() == 0 {
		return 0
	}
	begin := 0 // position from which entries are read
	if body, err := path.At(at).Body(); err == nil && !s.tree.Replayed() {
		if c, ok := body.(session.Compaction); ok && (c.ReplacesAll || c.FirstKept != "") {
			for begin = at; begin > 0 && path.At(begin).ID != c.FirstKept; begin-- {
			}
			if c.ReplacesAll || path.At(begin).ID != c.FirstKept {
				begin = at
			}
		}
	}
	const swift = 32 // passing this many entries costs as much as reading one
	sum := path.Len() / swift
	for k := begin; k < path.Len(); k++ {
		sum += weight(path.At(k))
	}
	return sum
}

// until converts what the model saw before a compaction. Each context on the way may be as large as the session: beyond the limit, what
// precedes the compaction is carried along, and the compaction begins the branch.
func (s *script) until(id session.EntryID) (node, error) {
	if s.read > most*s.total+more {
		return node{}, nil
	}
	return s.branch(id)
}
