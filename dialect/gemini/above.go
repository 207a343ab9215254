package gemini

import "github.com/treeline-dev/treeline/session"

// talk holds the messages of the conversation and finds their positions by id.
type talk struct {
	list []live
	// last has the last position of each id among the first len(before) messages. before[k] is the position of the same id before
	// message k, -1 for none: it counts again when the conversation is cut.
	last   map[string]int
	before []int
}

// add appends a message.
func (t *talk) add(m live) { t.list = append(t.list, m) }

// find returns the last position of an id in the conversation, or -1. Nearly always it is one of the last messages.
func (t *talk) find(id string) int {
	for k := len(t.list) - 1; k >= max(len(t.list)-near, 0); k-- {
		if t.list[k].id == id {
			return k
		}
	}
	if t.last == nil {
		t.last = map[string]int{}
	}
	for k := len(t.before); k < len(t.list); k++ {
		of := t.list[k].id
		before, again := t.last[of]
		if !again {
			before = -1
		}
		t.last[of], t.before = k, append(t.before, before)
	}
	if k, ok := t.last[id]; ok {
		return k
	}
	return -1
}

// cut removes the message at a position and all after it from the conversation.
func (t *talk) cut(at int) {
	for k := len(t.before) - 1; k >= at; k-- {
		if id := t.list[k].id; t.before[k] >= 0 {
			t.last[id] = t.before[k]
		} else {
			delete(t.last, id)
		}
		t.before = t.before[:k]
	}
	t.list = t.list[:at]
}

// step describes the path from an entry to the root. Entries are positions in the log; -1 means none.
type step struct {
	parent, depth int32
	jump          int32 // an entry far above: with jumps, any entry above is reached in O(log n) steps
	counts        int32 // the nearest entry above for which dec.counts is true
}

// climb returns the steps of all entries so far.
func (dec *decoder) climb() []step {
	for i := len(dec.steps); i < dec.b.Len(); i++ {
		e := dec.b.At(i)
		p := int32(e.Tree().Above(i))
		s := step{parent: p, jump: p, counts: -1}
		if p < 0 || int(p) >= i {
			s.parent, s.jump = -1, int32(i)
			dec.steps = append(dec.steps, s)
			continue
		}
		above := dec.steps[p]
		far := dec.steps[above.jump]
		if s.depth = above.depth + 1; above.depth-far.depth == far.depth-dec.steps[far.jump].depth {
			s.jump = far.jump
		}
		if s.counts = above.counts; dec.counts(dec.b.At(int(p))) {
			s.counts = p
		}
		dec.steps = append(dec.steps, s)
	}
	return dec.steps
}

// isAbove reports whether entry a is an ancestor of entry i.
func isAbove(steps []step, a, i int32) bool {
	if steps[a].depth >= steps[i].depth {
		return false
	}
	for depth := steps[a].depth; steps[i].depth > depth; {
		if far := steps[i].jump; steps[far].depth >= depth {
			i = far
		} else {
			i = steps[i].parent
		}
	}
	return i == a
}

// counts reports whether follows must look at an entry: a message that a $set must repeat, or a compaction.
func (dec *decoder) counts(e session.Entry) bool {
	return e.Kind == session.KindCompaction || e.Kind == session.KindMessage && e.FirstPiece() == e.Index && !dec.apart(e)
}

// spoken returns the nearest entry that is part of the conversation, from an entry up to its root. It remembers the result, so that rewinds
// that lead to the same place do not walk over the same entries again.
func (dec *decoder) spoken(id session.EntryID) (session.EntryID, bool) {
	e, ok := dec.b.Lookup(id)
	if !ok {
		return "", false
	}
	tree, target := e.Tree(), -1
	var passed []int
	for i := e.Index; i >= 0; i = tree.Above(i) {
		if known, again := dec.speaks[i]; again {
			target = known
			break
		}
		if e := dec.b.At(i); !e.Aside() && e.Kind != session.KindLeaf {
			target = i
			break
		}
		passed = append(passed, i)
	}
	for _, i := range passed {
		put(&dec.speaks, i, target)
	}
	if target < 0 {
		return "", false
	}
	return dec.b.At(target).ID, true
}
