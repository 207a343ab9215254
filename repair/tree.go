package repair

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// mendTree finds what is wrong with ids and parents, and chooses new ones. Ids come first, because parents name entries by their new ids.
// Cycles come last, because they are searched for among the new parents.
func (p *planner) mendTree() error {
	for _, problem := range p.damage {
		if problem.Kind == session.ProblemNoID {
			p.noID[problem.Offset] = true
		}
	}
	p.byID = map[session.EntryID][]int{}
	for e := range p.t.Entries() {
		// If an id repeats in a linear format, the reader gives the entry another id; that is not damage.
		if e.NativeID == e.ID {
			p.byID[e.ID] = append(p.byID[e.ID], e.Index)
		}
	}
	p.mendMissingIDs()
	if err := p.mendDuplicateIDs(); err != nil {
		return err
	}
	if !p.mended() { // otherwise the dialect decides what such an entry follows
		p.mendOrphans()
		p.mendCycles()
	}
	return nil
}

// mendMissingIDs writes down the ids that the reader derived for entries without one. Labels and other references use
// the derived id, so they keep their meaning.
func (p *planner) mendMissingIDs() {
	_, canName := p.d.(dialect.Namer)
	for e := range p.t.Entries() {
		if !p.noID[e.Span.Offset] {
			continue
		}
		r := p.about(e, session.ProblemNoID, "an entry without an id")
		r.Action = "it is left as it is"
		if canName {
			r.Action, r.Change = "it gets the id "+string(e.ID), true
			p.ids[e.Index] = e.ID
		}
		p.add(r)
	}
}

// mendDuplicateIDs gives new ids to entries whose id a later entry has, too. If anything mentions the id, both keep it: programs use the
// later entry, but the mention may refer to the earlier one.
func (p *planner) mendDuplicateIDs() error {
	mentions, err := p.mentions()
	if err != nil {
		return err
	}
	_, canName := p.d.(dialect.Namer)
	canName = canName && !p.mended()
	for e := range p.t.Entries() {
		same := p.byID[e.ID]
		if e.NativeID != e.ID || len(same) < 2 || same[len(same)-1] == e.Index {
			continue
		}
		later := p.t.At(same[len(same)-1])
		r := p.about(e, session.ProblemDuplicate, fmt.Sprintf("line %d has an entry with the same id", later.Line))
		switch n := mentions[e.ID]; {
		case n > 0:
			r.Action = fmt.Sprintf("both are left as they are: either may be meant where the id is mentioned (entries: %d)", n)
		case !canName:
			r.Action = "both are left as they are"
		default:
			id, err := p.newID()
			if err != nil {
				return err
			}
			p.ids[e.Index], p.fresh[id], r.Change = id, e.Index, true
			r.Action = fmt.Sprintf("nothing mentions it: it gets the id %s, and the later entry keeps its own", id)
		}
		p.add(r)
	}
	return nil
}

// mentions counts, for each id that several entries have, the entries that mention it: as their parent, as the target of
// a label, or as any other string of their record. An entry's own id is not a mention.
func (p *planner) mentions() (map[session.EntryID]int, error) {
	count := map[session.EntryID]int{}
	for id, same := range p.byID {
		if len(same) > 1 {
			count[id] = 0
		}
	}
	if len(count) == 0 {
		return nil, nil
	}
	counted := map[session.EntryID]int{} // number, from 1, of the last entry that was counted for the id
	for e := range p.t.Entries() {
		mention := func(id session.EntryID) {
			if n, shared := count[id]; shared && counted[id] <= e.Index {
				count[id], counted[id] = n+1, e.Index+1
			}
		}
		mention(e.Parent)
		raw, err := e.Raw()
		if err != nil {
			return nil, err
		}
		for i := bytes.IndexByte(raw, '"'); i >= 0; {
			end, err := rawjson.Skip(raw, i)
			if err != nil {
				break
			}
			if s, ok := rawjson.Unquote(raw[i:end]); ok && (session.EntryID(s) != e.ID || e.NativeID != e.ID) {
				mention(session.EntryID(s))
			}
			if i = bytes.IndexByte(raw[end:], '"'); i >= 0 {
				i += end
			}
		}
	}
	return count, nil
}

// parent returns the index of an entry's new parent, or -1 for a root. New ids are looked up first, because the tree does not know them.
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

// mendOrphans makes the entry before an orphan its parent, if that is requested: it is the last entry that the agent had appended, and so
// most likely the one that the orphan continues.
func (p *planner) mendOrphans() {
	_, reattach := p.d.(dialect.Editor)
	var up ancestors
	if reattach = reattach && p.reattach; reattach {
		for i := range p.t.Len() {
			up = append(up, p.parent(i))
		}
	}
	for e := range p.t.Entries() {
		if e.Parent == "" {
			continue
		}
		if _, ok := p.t.Lookup(e.Parent); ok {
			continue
		}
		r := p.about(e, session.ProblemOrphan, fmt.Sprintf("its parent %q does not exist", e.Parent))
		switch {
		case !reattach:
			r.Action = "it is left as a root"
		case e.Index == 0:
			r.Action, r.Change = "there is no entry before it: it becomes a root", true
			p.parents[e.Index] = ""
		case up.root(e.Index-1) == e.Index:
			r.Action = "it is left as a root: the entry before it descends from it"
		case p.nameOf(e.Index-1) == "":
			r.Action = "it is left as a root: the entry before it shares its id with another"
		default:
			before := p.nameOf(e.Index - 1)
			r.Action, r.Change = fmt.Sprintf("its parent becomes %s, the entry before it", before), true
			p.parents[e.Index], up[e.Index] = before, e.Index-1
		}
		p.add(r)
	}
}

// nameOf returns the id that refers to an entry, or "" if its id refers to another one.
func (p *planner) nameOf(i int) session.EntryID {
	if id, ok := p.ids[i]; ok {
		return id
	}
	id := p.t.At(i).ID
	// An id refers to the last entry that has it.
	if same := p.byID[id]; len(same) > 1 && same[len(same)-1] != i {
		return ""
	}
	return id
}

// ancestors has an ancestor of each entry, initially its parent; -1 for a root.
type ancestors []int

// root returns the root above an entry or, if its ancestors form a cycle, an entry of the cycle. It shortens the paths that it walks, so
// that many calls stay cheap.
func (up ancestors) root(i int) int {
	for up[i] >= 0 && up[i] != i {
		if above := up[up[i]]; above >= 0 {
			up[i] = above
		}
		i = up[i]
	}
	return i
}

// mendCycles cuts each cycle of parents at its first entry. Each entry is visited once.
func (p *planner) mendCycles() {
	_, canEdit := p.d.(dialect.Editor)
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
			state[k] = done
		}
	}
}

// cut makes the first entry of a cycle a root. If the cycle runs through a duplicate id, it may not be one.
func (p *planner) cut(cycle []int, canEdit bool) {
	first := slices.Min(cycle)
	r := p.about(p.t.At(first), session.ProblemCycle, "its parents lead back to it")
	switch {
	case !canEdit:
		r.Action = "it is left as it is"
	case slices.ContainsFunc(cycle, func(i int) bool { return len(p.byID[p.t.At(i).ID]) > 1 }):
		r.Action = "it is left as it is: the cycle runs through a duplicate id, and the earlier entry may be meant"
	default:
		r.Action, r.Change = "it becomes a root", true
		p.parents[first] = ""
	}
	p.add(r)
}
