package convert

import (
	"slices"

	"github.com/treeline-dev/treeline/session"
)

// chooseRepeats finds the compactions after which the kept records are written again, see Habits.KeepsByRepeating: the position of each on
// the path, and that of the first entry that it keeps. The agent reads only what the last compaction kept. Earlier ones repeat theirs, too,
// beginning with the last, but together at most as many records as the path has entries: otherwise a session whose compactions all keep
// everything would grow quadratically.
func (c *crossing) chooseRepeats() {
	if !c.to.Habits().KeepsByRepeating {
		return
	}
	at := make(map[session.EntryID]int, len(c.onPath))
	for pos, i := range slices.Backward(c.onPath) {
		at[c.tree.At(i).ID] = pos // of equal ids, the first one counts
	}
	c.repeated = map[int]int{}
	room := len(c.onPath)
	for pos, i := range slices.Backward(c.onPath) {
		e := c.tree.At(i)
		if e.Kind != session.KindCompaction {
			continue
		}
		body, err := e.Body()
		k, ok := body.(session.Compaction)
		if err != nil || !ok || k.FirstKept == "" || k.ReplacesAll {
			continue
		}
		first, ok := at[k.FirstKept]
		if !ok || first >= pos {
			continue
		}
		if room -= pos - first; room < 0 {
			return
		}
		c.repeated[pos] = first
	}
}

// repeats returns the records that are written again after the compaction at a position of the path. They keep their ids: the decoder gives
// repeated records new ones.
func (c *crossing) repeats(pos int) []session.Span {
	first, ok := c.repeated[pos]
	if !ok {
		return nil
	}
	var list []session.Span
	var before *passage
	for _, i := range c.onPath[first:pos] {
		p := c.passageOf[i]
		// A passage of several entries is repeated once; an earlier compaction is replaced by this one.
		if p == nil || p == before || p.restored || c.tree.At(p.entries[0]).Kind == session.KindCompaction {
			continue
		}
		before = p
		list = append(list, p.records...)
	}
	return list
}
