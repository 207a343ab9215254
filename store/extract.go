package store

import (
	"cmp"
	"maps"
	"slices"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/session"
)

// chain makes one branch of the entries of a path. It leaves out labels and entries that only move the leaf, as the agents' programs do:
// labels are made again at the end, and a child of a label becomes a child of the label's parent.
type chain struct {
	s       *Session
	editor  dialect.Editor
	records [][]byte
	// last is the id of the last record and the parent of the next one; ids are all ids of the new session.
	last session.EntryID
	// moved maps a label that was left out to the entry that follows it: a compaction may keep from a label on.
	moved   map[session.EntryID]session.EntryID
	skipped []session.EntryID
	ids     map[session.EntryID]bool
	held    held
	// new is the session that the copy becomes.
	new dialect.NewSession
}

// add adds the next entry of the path. Its record stays byte for byte, unless its parent, or the entry that a compaction keeps from, has
// another id now.
func (c *chain) add(e session.Entry) error {
	if e.Kind == session.KindLabel || e.Kind == session.KindLeaf {
		c.skipped = append(c.skipped, e.ID)
		return nil
	}
	// A compaction that kept from a skipped entry on keeps from the one after it.
	for _, id := range c.skipped {
		c.moved[id] = e.ID
	}
	c.skipped = nil
	record, err := c.s.dialect.Encode(e)
	if err != nil {
		return err
	}
	var keep session.EntryID
	if e.Kind == session.KindCompaction {
		body, err := e.Body()
		if err != nil {
			return err
		}
		if b, ok := body.(session.Compaction); ok {
			keep = c.moved[b.FirstKept]
		}
	}
	whole, _ := e.Whole()
	record, whole = c.s.copied(record, c.new), c.s.copied(whole, c.new)
	// A parent may be on the path without being the entry before: the parent of a tool result is its call.
	if e.Parent != c.last && !c.ids[e.Parent] || keep != "" {
		if record, err = c.editor.Rechain(record, c.last, keep); err != nil {
			return err
		}
		if whole != nil {
			if whole, err = c.editor.Rechain(whole, c.last, keep); err != nil {
				return err
			}
		}
	}
	c.held.put(e.ID, record, whole)
	c.records = append(c.records, record)
	c.last = e.ID
	c.ids[e.ID] = true
	return nil
}

// labels returns the labelled entries in the order of their first labels, and the time of the last label of each.
func (c *chain) labels() (targets []session.EntryID, times map[session.EntryID]session.Time, err error) {
	times = map[session.EntryID]session.Time{}
	first := map[session.EntryID]int{} // the entry that gave the first label
	for e := range c.s.tree.Entries() {
		if e.Kind != session.KindLabel {
			continue
		}
		body, err := e.Body()
		if err != nil {
			return nil, nil, err
		}
		switch l, ok := body.(session.Label); {
		case !ok:
		case l.Label == "": // a label that is given again counts from then on, as in the agents' map of labels
			delete(first, l.Target)
		default:
			if _, there := first[l.Target]; !there {
				first[l.Target] = e.Index
			}
			if times[l.Target], err = e.Time(); err != nil {
				return nil, nil, err
			}
		}
	}
	targets = slices.SortedFunc(maps.Keys(first), func(a, b session.EntryID) int { return cmp.Compare(first[a], first[b]) })
	return targets, times, nil
}

// relabel makes the labels of the path's entries again.
func (c *chain) relabel() error {
	w := c.s.w
	targets, times, err := c.labels()
	if err != nil {
		return err
	}
	for _, target := range targets {
		label := c.s.tree.Label(target)
		if label == "" || !c.ids[target] {
			continue
		}
		id, err := c.s.freshID()
		for err == nil && c.ids[id] { // taken by an earlier label
			id, err = c.s.freshID()
		}
		if err != nil {
			return err
		}
		h := logtree.Born(c.new)
		n := dialect.NewEntry{ID: id, Parent: c.last, Time: w.opt.Clock(), Body: session.Label{Target: target, Label: label}, Header: &h}
		if at, ok := times[target].Time(); ok && w.d.Habits().RelabelKeepsTime {
			n.Time = at
		}
		record, err := w.d.Record(n)
		if err != nil {
			return err
		}
		c.records = append(c.records, record)
		c.ids[id] = true
		if !dialect.IsBeside(c.s.dialect, record) {
			c.last = id
		}
	}
	return nil
}

// copied returns a record as the copy of its session has it; nil for nil.
func (s *Session) copied(record []byte, to dialect.NewSession) []byte {
	if d, ok := s.dialect.(dialect.Stamper); ok && record != nil {
		return d.Copy(record, s.tree.Header(), to)
	}
	return record
}
