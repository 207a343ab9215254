package codex

import (
	"slices"
	"sync"

	"github.com/treeline-dev/treeline/session"
)

// outline is what replays need to know about all lines without reading them. The decoder may add to it while contexts of earlier
// lines are replayed.
type outline struct {
	mu   sync.Mutex
	lost map[int]bool // positions of entries that the program skips
	// leaves are the entries that the leaf moves to, by the positions of the rollbacks.
	leaves map[int]session.EntryID
	bounds bounds
	newest checkpoint
}

// bounds are the positions of lines that decide where a replay begins, in order: events that begin a turn,
// rollbacks, and compactions with a replacement.
type bounds struct{ starts, rollbacks, replacements []int32 }

// checkpoint is the state of a replay after a compaction without a replacement, which leaves a short history. Replays that
// begin at the same place continue from it, so that the contexts of many compactions do not each read the log from its beginning.
type checkpoint struct {
	begin, own, from int // these must be the same in the replay
	next             int // the position after the compaction; 0 if there is no checkpoint
	ordinal          int64
	history          []item // its entries have only their positions
}

func (o *outline) isLost(at int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lost[at]
}

// lose notes that the program skips the entry at a position.
func (o *outline) lose(at int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lost == nil {
		o.lost = map[int]bool{}
	}
	o.lost[at] = true
}

// leafAt is the entry that the leaf moves to at the rollback at a position.
func (o *outline) leafAt(at int) session.EntryID {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.leaves[at]
}

// lead notes the entry that the leaf moves to at a rollback. at is the position of the rollback.
func (o *outline) lead(at int, to session.EntryID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.leaves == nil {
		o.leaves = map[int]session.EntryID{}
	}
	o.leaves[at] = to
}

// note adds a position to a list of the bounds.
func (o *outline) note(list *[]int32, at int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	*list = append(*list, int32(at))
}

// known returns the bounds found so far.
func (o *outline) known() bounds {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bounds
}

// next returns the position, up to i, of the next line that base must read. turn and skip are what base has found. It gives -1 if no
// line can change the result any more.
func (b *bounds) next(i int, turn *span, skip int) int {
	start, rollback, replacement := lastOf(&b.starts, i), lastOf(&b.rollbacks, i), lastOf(&b.replacements, i)
	found := turn.replacement != nil
	switch {
	case !found && replacement < 0, found && skip == 0 && rollback < 0, start < 0 && skip > 0:
		return -1
	case found && skip == 0 && (start < 0 || turn.id != ""):
		return max(start, rollback)
	case start < 0:
		return max(rollback, replacement)
	}
	return i
}

// lastOf removes positions after i from a sorted list and gives its last position, or -1 if it is empty.
func lastOf(list *[]int32, i int) int {
	n := len(*list)
	for n > 0 && int((*list)[n-1]) > i {
		n--
	}
	if *list = (*list)[:n]; n == 0 {
		return -1
	}
	return int((*list)[n-1])
}

// keep makes the state of a replay after a compaction the checkpoint.
func (o *outline) keep(r *replay, next int) {
	c := checkpoint{begin: r.begin, own: r.own, from: r.from, next: next, ordinal: r.ordinal, history: slices.Clone(r.history)}
	for k := range c.history {
		c.history[k].entry = session.Entry{Index: c.history[k].entry.Index}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.newest = c
}

// resume continues from the checkpoint if it lies before last, and gives the position of the next line.
func (r *replay) resume(last int) int {
	r.d.mu.Lock()
	c := r.d.newest
	r.d.mu.Unlock()
	if c.begin != r.begin || c.own != r.own || c.from != r.from || c.next <= r.begin || c.next > last+1 {
		return r.begin
	}
	r.set(c.history)
	r.ordinal = c.ordinal
	for k := range r.history {
		r.history[k].entry = r.t.At(r.history[k].entry.Index)
	}
	return c.next
}
