package store

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// chain hangs the entries of a path behind each other, leaving out labels and what only moves the leaf.
type chain struct {
	s       *Session
	editor  dialect.Editor
	records [][]byte
	last    session.EntryID
	// moved says, for a label that was left out, which entry follows it: a compaction may keep from a label on.
	moved   map[session.EntryID]session.EntryID
	skipped []session.EntryID
	ids     map[session.EntryID]bool
}

func (c *chain) add(e session.Entry) error {
	if e.Kind == session.KindLabel || e.Kind == session.KindLeaf {
		c.skipped = append(c.skipped, e.ID)
		return nil
	}
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
	if e.Parent != c.last || keep != "" {
		if record, err = c.editor.Rechain(record, c.last, keep); err != nil {
			return err
		}
	}
	c.records = append(c.records, record)
	c.last = e.ID
	c.ids[e.ID] = true
	return nil
}

// relabel makes the labels of the path's entries again.
func (c *chain) relabel(path session.Path) error {
	w := c.s.w
	keepTime := w.d.Habits().RelabelKeepsTime
	times := map[session.EntryID]session.Time{}
	if keepTime {
		for e := range c.s.tree.Entries() {
			if e.Kind != session.KindLabel {
				continue
			}
			body, err := e.Body()
			if err != nil {
				return err
			}
			if l, ok := body.(session.Label); ok {
				times[l.Target], err = e.Time()
				if err != nil {
					return err
				}
			}
		}
	}
	for _, e := range path.Entries() {
		label := c.s.tree.Label(e.ID)
		if label == "" || !c.ids[e.ID] {
			continue
		}
		id, err := c.s.freshID()
		if err != nil {
			return err
		}
		n := dialect.NewEntry{ID: id, Parent: c.last, Time: w.opt.Clock(), Body: session.Label{Target: e.ID, Label: label}}
		if at, ok := times[e.ID].Time(); ok {
			n.Time = at
		}
		record, err := w.d.Record(n)
		if err != nil {
			return err
		}
		c.records = append(c.records, record)
		c.last = id
		c.ids[id] = true
		w.proposed[id] = true // so that the next label does not get it too
		defer delete(w.proposed, id)
	}
	return nil
}
