package repair

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// mendTree finds what is wrong with ids and parents, and says which entries get others. Ids first: parents name entries by
// the ids that they will have. Circles last: they are looked for among the parents as they will be.
func (p *planner) mendTree() error {
	for _, problem := range p.t.Problems() {
		if problem.Kind == session.ProblemNoID {
			p.noID[problem.Offset] = true
		}
	}
	if err := p.mendIDs(); err != nil {
		return err
	}
	p.mendOrphans()
	p.mendCycles()
	return nil
}

// mendIDs gives ids to entries without one, and others to those whose id a later entry has too.
func (p *planner) mendIDs() error {
	_, canName := p.d.Dialect.(dialect.Namer)
	p.byID = map[session.EntryID][]int{}
	for e := range p.t.Entries() {
		if p.noID[e.Span.Offset] {
			r := p.about(e, session.ProblemNoID, "an entry without an id")
			// The id that reading derives for it: what names the entry by it already, such as a label, goes on to mean it.
			if r.Action, r.Change = "it gets the id "+string(e.ID), canName; canName {
				p.ids[e.Index] = e.ID
			} else {
				r.Action = "it is left as it is"
			}
			p.add(r)
		}
		// Linear formats give an entry whose id stands again another one when it is read; that is no damage.
		if e.NativeID == e.ID {
			p.byID[e.ID] = append(p.byID[e.ID], e.Index)
		}
	}
	for e := range p.t.Entries() {
		same := p.byID[e.ID]
		if e.NativeID != e.ID || len(same) < 2 || same[len(same)-1] == e.Index {
			continue
		}
		later := p.t.At(same[len(same)-1])
		r := p.about(e, session.ProblemDuplicate, fmt.Sprintf("line %d has an entry with the same id", later.Line))
		n, err := p.mentions(e.ID, same)
		if err != nil {
			return err
		}
		// The programs take the last one, but who wrote the mention may have meant the earlier.
		if n > 0 || !canName {
			r.Action = fmt.Sprintf("both are left as they are: the id is named elsewhere (%d), and either may be meant", n)
		} else {
			id, err := p.newID()
			if err != nil {
				return err
			}
			p.ids[e.Index], p.fresh[id], r.Change = id, e.Index, true
			r.Action = fmt.Sprintf("nothing names it: it gets the id %s, and the later one keeps its own", id)
		}
		p.add(r)
	}
	return nil
}

// mentions counts the entries in which an id stands other than as their own: as parent, target of a label, or whatever
// else. Prose does not count: a quote in it is escaped.
func (p *planner) mentions(id session.EntryID, same []int) (int, error) {
	// Ids of the programs have no character that JSON spells in two ways.
	quoted := rawjson.Quote(string(id))
	n := 0
	for e := range p.t.Entries() {
		if slices.Contains(same, e.Index) {
			if e.Parent == id {
				n++
			}
			continue
		}
		raw, err := e.Raw()
		if err != nil {
			return 0, err
		}
		if e.Parent == id || bytes.Contains(raw, quoted) {
			n++
		}
	}
	return n, nil
}

// parent gives the index of an entry's parent as it will be; -1 where there is none. Ids that the repair makes are looked
// up first: the tree does not know them yet.
func (p *planner) parent(i int) int {
	id, changed := p.parents[i]
	if !changed {
		id = p.t.At(i).Parent
	}
	if id == "" {
		return -1
	}
	if i, ok := p.fresh[id]; ok {
		return i
	}
	e, ok := p.t.Lookup(id)
	if !ok {
		return -1
	}
	return e.Index
}

// mendOrphans hangs entries whose parent is missing onto the entry before them, where that is asked for.
func (p *planner) mendOrphans() {
	_, canEdit := p.d.Dialect.(dialect.Editor)
	for e := range p.t.Entries() {
		if e.Parent == "" {
			continue
		}
		if _, ok := p.t.Lookup(e.Parent); ok {
			continue
		}
		r := p.about(e, session.ProblemOrphan, fmt.Sprintf("its parent %q does not exist", e.Parent))
		switch {
		case !p.opt.Reattach || !canEdit:
			r.Action = "it is left as a root; --reattach hangs it onto the entry before it"
		case e.Index == 0:
			r.Action, r.Change = "there is no entry before it: it becomes a root", true
			p.parents[e.Index] = ""
		// It would close a circle.
		case p.leadsTo(e.Index-1, e.Index):
			r.Action = "it is left as a root: the entry before it hangs on it"
		case p.nameOf(e.Index-1) == "":
			r.Action = "it is left as a root: the id of the entry before it stands twice"
		default:
			// The entry before it in the file is what the agent appended last: most likely what it went on from.
			before := p.nameOf(e.Index - 1)
			r.Action, r.Change = fmt.Sprintf("it is hung onto %s, the entry before it", before), true
			p.parents[e.Index] = before
		}
		p.add(r)
	}
}

// nameOf is the id by which an entry can be named; "" where that means another one.
func (p *planner) nameOf(i int) session.EntryID {
	if id, ok := p.ids[i]; ok {
		return id
	}
	id := p.t.At(i).ID
	// The last one of an id is the one that the id means.
	if same := p.byID[id]; len(same) > 1 && same[len(same)-1] != i {
		return ""
	}
	return id
}

// leadsTo says whether the parents of an entry lead to another.
func (p *planner) leadsTo(from, to int) bool {
	// No way is longer than there are entries, unless it runs in a circle.
	for i, steps := from, 0; i >= 0 && steps <= p.t.Len(); i, steps = p.parent(i), steps+1 {
		if i == to {
			return true
		}
	}
	return false
}

// mendCycles cuts each circle of parents open at its first entry. Each entry is visited once.
func (p *planner) mendCycles() {
	_, canEdit := p.d.Dialect.(dialect.Editor)
	const unseen, walking, done = 0, 1, 2
	state := make([]uint8, p.t.Len())
	for i := range state {
		var trail []int
		k := i
		for k >= 0 && state[k] == unseen {
			state[k] = walking
			trail = append(trail, k)
			k = p.parent(k)
		}
		if k >= 0 && state[k] == walking {
			p.cut(trail[slices.Index(trail, k):], canEdit)
		}
		for _, k := range trail {
			// Whatever leads here later has been looked at.
			state[k] = done
		}
	}
}

// cut opens a circle at its first entry in the file. Where an id on it stands twice the circle may be none.
func (p *planner) cut(circle []int, canEdit bool) {
	first := slices.Min(circle)
	r := p.about(p.t.At(first), session.ProblemCycle, "its parents lead back to it")
	switch {
	case !canEdit:
		r.Action = "it is left as it is"
	case slices.ContainsFunc(circle, func(i int) bool { return len(p.byID[p.t.At(i).ID]) > 1 }):
		r.Action = "it is left as it is: an id on the way stands twice, and the earlier entry may be meant"
	default:
		r.Action, r.Change = "it becomes a root", true
		p.parents[first] = ""
	}
	p.add(r)
}
