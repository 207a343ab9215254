package transcript

import (
	"slices"
	"sync"

	"github.com/treeline-dev/treeline/session"
)

// route is a path as a person reads it. Where a compaction begins the path that the agent's program sees, what came before
// it in the log comes first.
type route struct {
	leaf  session.EntryID
	index []int32 // entries, in order
	seen  []bool  // by index: the model sees it at the leaf
	// forks are the places before which branches begin, in order.
	forks []forkAt
	where func() []int32 // by index: the position, -1 where it is not on the route

	mu    sync.Mutex
	steps map[shape][]int32 // see shown
}

// shape is what of a route is shown.
type shape struct{ focused, all bool }

// forkAt is a fork on a route: the position before which it stands, and the first entry of the branch that is taken.
type forkAt struct{ position, branch int32 }

// room is memory that the routes of a document use one after the other: a session may have as many routes as entries.
type room struct {
	last  []int32 // by the entry before a fork: 1 + its place in forks; all are 0 between two uses
	forks []forkAt
}

// keptRoutes is how many routes a document remembers. A reader switches between few branches.
const keptRoutes = 4

// route gives the path to a leaf; nil is the leaf of the session.
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
	path, err := k.t.Path(leaf)
	if err != nil {
		return nil, err
	}
	r := &route{leaf: leaf, index: path.Indexes()}
	// A record that cannot be read hides nothing; the block of the entry says what is wrong with it.
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

// lead puts before the path what the log has before a compaction without a parent. What the compaction keeps may stand on
// the path behind it: it is shown where it was said.
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

// written gives the entries above an entry as the log has their parents, with the results that hang on them. It goes on
// above a compaction without a parent.
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

// findForks finds the forks on the route. Two children of an entry may both be on it, since an agent may put records of an
// answer beside its path: the route continues with the last of them.
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

// forkBefore gives the fork at a position from..to, the last one; ok is false for none.
func (r *route) forkBefore(from, to int) (fork forkAt, ok bool) {
	at, _ := slices.BinarySearchFunc(r.forks, to+1, func(f forkAt, p int) int { return int(f.position) - p })
	if at == 0 || int(r.forks[at-1].position) < from {
		return forkAt{}, false
	}
	return r.forks[at-1], true
}

// at gives the position of an entry, -1 where it is not on the route.
func (r *route) at(i int32) int { return int(r.where()[i]) }

// nearEnd is at for one entry, which is mostly near the end: nothing is made for it.
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

// named gives the entry that an id or a cursor names, and its position, -1 where it is not on the route. Of entries with the same id
// the last one on the route is meant. ok is false for an unknown id.
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

// message gives the row of messages that an id or a cursor names among those that the model sees. Of entries with
// the same id the last one that speaks is meant.
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

// place names a row of the messages of an entry for message.
func (r *route) place(k *Skeleton, e session.Entry, at row) session.EntryID {
	if r.message(k, e.ID) == at {
		return e.ID
	}
	return k.numbered(e, at.number)
}
