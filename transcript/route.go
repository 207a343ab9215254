package transcript

import (
	"slices"
	"sync"

	"github.com/treeline-dev/treeline/session"
)

// route is a path as a person reads it. If the path that the agent's program sees begins with a compaction, the route begins with what the
// log has before the compaction.
type route struct {
	leaf  session.EntryID
	index []int32 // entries in order
	seen  []bool  // by index: the model sees the entry at the leaf
	// forks are the forks on the route, in order.
	forks []forkAt
	where func() []int32 // by index: the position, or -1 if the entry is not on the route

	mu    sync.Mutex
	steps map[shape][]int32 // see shown
}

// shape selects what of a route is shown.
type shape struct{ focused, all bool }

// forkAt is a fork on a route: the position of the entry after it, and the first entry of the branch that is taken.
type forkAt struct{ position, branch int32 }

// room is memory that the routes of a document reuse, since a session may have as many routes as entries.
type room struct {
	last  []int32 // by the entry before a fork: 1 + the fork's index in forks; all are 0 between two uses
	forks []forkAt
}

// keptRoutes is the number of routes that a document caches. A reader switches between few branches.
const keptRoutes = 4

// route returns the path to a leaf; nil means the leaf of the session.
func (d *Document) route(leaf *session.EntryID) (*route, error) {
	id := d.k.t.LeafID()
	if leaf != nil {
		id = *leaf
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, r := range d.routes {
		if r.leaf == id {
			d.routes = append(append(slices.Clone(d.routes[:i]), d.routes[i+1:]...), r)
			return r, nil
		}
	}
	r, err := newRoute(d.k, id, &d.room)
	if err != nil {
		return nil, err
	}
	if len(d.routes) == keptRoutes {
		d.routes = d.routes[1:]
	}
	d.routes = append(slices.Clip(d.routes), r)
	return r, nil
}

func newRoute(k *Skeleton, leaf session.EntryID, room *room) (*route, error) {
	path, err := k.path(leaf)
	if err != nil {
		return nil, err
	}
	r := &route{leaf: leaf, index: path.Indexes()}
	// A record that cannot be read hides nothing; the block of its entry reports the error.
	if seen, err := path.Seen(); err == nil {
		r.seen = seen
	}
	r.lead(k)
	r.findForks(k, room)
	r.where = sync.OnceValue(func() []int32 {
		where := make([]int32, k.t.Len()+1)
		for i := range where {
			where[i] = -1
		}
		for p, i := range r.index {
			where[i] = int32(p)
		}
		return where
	})
	return r, nil
}

// path returns the path to the entry that an id or a cursor refers to.
func (k *Skeleton) path(leaf session.EntryID) (session.Path, error) {
	if e, _, ok := k.named(leaf); ok && leaf != "" {
		return k.t.PathAt(e.Index), nil
	}
	return k.t.Path(leaf)
}

// Path returns the path to the end of a stretch.
func (d *Document) Path(s Stretch) (session.Path, error) { return d.k.path(s.Tip) }

// lead prepends what the log has before a compaction without a parent. The path may repeat, after the compaction, the entries that the
// compaction keeps; they are shown only at their original position.
func (r *route) lead(k *Skeleton) {
	at := slices.IndexFunc(r.index, func(i int32) bool {
		return k.class[i]&speaks != 0 && k.up[i] != k.root() && k.t.Above(int(i)) < 0
	})
	if at < 0 {
		return
	}
	list := k.written(k.up[r.index[at]])
	on := make([]bool, k.t.Len())
	for _, i := range list {
		on[i] = true
	}
	for _, i := range r.index {
		if !on[i] {
			list = append(list, i)
		}
	}
	r.index = list
}

// written returns the ancestors of an entry by the parents in the log, with the results that belong to them. Above a compaction without a
// parent, it continues with what the log has before.
func (k *Skeleton) written(i int32) (list []int32) {
	on := make([]bool, k.t.Len())
	for at := int(i); !on[at]; {
		on[at] = true
		up := k.t.Above(at)
		if up < 0 {
			if up = int(k.up[at]); up == k.t.Len() {
				break
			}
		}
		at = up
	}
	for at := range k.t.Len() {
		if k.class[at]&byTool != 0 && k.class[at]&speaks == 0 && !on[at] {
			up := k.t.Above(at)
			on[at] = up >= 0 && on[up]
		}
		if on[at] {
			list = append(list, int32(at))
		}
	}
	return list
}

// findForks finds the forks on the route. Two children of an entry may both be on it, since an agent may write records of an answer next to
// its path: the route continues with the last of them.
func (r *route) findForks(k *Skeleton, room *room) {
	if len(room.last) != k.t.Len()+1 {
		room.last = make([]int32, k.t.Len()+1)
	}
	last, forks, begun := room.last, room.forks[:0], false
	for p, i := range r.index {
		if k.class[i]&speaks == 0 {
			continue
		}
		up := k.up[i]
		if k.forks(up) && (up != k.root() || !begun) {
			if at := last[up]; at > 0 {
				forks[at-1].position = -1
			}
			forks = append(forks, forkAt{int32(p), i})
			last[up] = int32(len(forks))
		}
		begun = true
	}
	for _, f := range forks {
		last[k.up[f.branch]] = 0
	}
	room.forks = slices.DeleteFunc(forks, func(f forkAt) bool { return f.position < 0 })
	r.forks = slices.Clone(room.forks)
}

// forkBefore returns the last fork at a position in from..to; ok is false if there is none.
func (r *route) forkBefore(from, to int) (fork forkAt, ok bool) {
	at, _ := slices.BinarySearchFunc(r.forks, to+1, func(f forkAt, p int) int { return int(f.position) - p })
	if at == 0 || int(r.forks[at-1].position) < from {
		return forkAt{}, false
	}
	return r.forks[at-1], true
}

// at returns the position of an entry, or -1 if it is not on the route.
func (r *route) at(i int32) int { return int(r.where()[i]) }

// nearEnd is like at, for a single entry that is probably near the end. It does not build the index.
func (r *route) nearEnd(i int32) int {
	for p := len(r.index) - 1; p >= 0; p-- {
		if r.index[p] == i {
			return p
		}
	}
	return -1
}

// isSeen reports whether the model sees an entry.
func (r *route) isSeen(i int32) bool { return r.seen == nil || r.seen[i] }

// named returns the entry that an id or a cursor refers to, and its position, or -1 if it is not on the route. If several entries have the
// id, it is the last one on the route. ok is false for an unknown id.
func (r *route) named(k *Skeleton, id session.EntryID) (e session.Entry, position int, ok bool) {
	if e, _, ok = k.named(id); !ok {
		return e, -1, false
	}
	if position = r.nearEnd(int32(e.Index)); position >= 0 {
		return e, position, true
	}
	for p, i := range slices.Backward(r.index) {
		if same := k.t.At(int(i)); same.ID == e.ID {
			return same, p, true
		}
	}
	return e, -1, true
}

// message returns the row of the messages that an id or a cursor refers to, among those that the model sees. If several entries have the
// id, it is the last one that speaks.
func (r *route) message(k *Skeleton, id session.EntryID) row {
	e, n, ok := k.named(id)
	if !ok {
		return noRow
	}
	speaks := func(i int32) bool { return r.isSeen(i) && k.class[i]&(speaks|byUser|byModel|byTool) != 0 }
	if i := int32(e.Index); e.ID != id || speaks(i) {
		return row{i, n}
	}
	for _, i := range slices.Backward(r.index) {
		if speaks(i) && k.t.At(int(i)).ID == id {
			return row{i, 0}
		}
	}
	return row{int32(e.Index), 0}
}

// place returns the id or cursor by which message finds a row of an entry.
func (r *route) place(k *Skeleton, e session.Entry, at row) session.EntryID {
	if r.message(k, e.ID) == at {
		return e.ID
	}
	return k.numbered(e, at.number)
}
