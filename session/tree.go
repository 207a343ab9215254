package session

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
)

// ErrUnknownEntry is wrapped by errors about an entry that the tree does not have.
var ErrUnknownEntry = errors.New("not found")

// unknownEntry uses the words of the agents' own programs, without their capital, because users search for them.
func unknownEntry(id EntryID) error { return fmt.Errorf("entry %s %w", id, ErrUnknownEntry) }

// Parents that are not an index.
const (
	noParent = -1 // a root
	orphaned = -2 // its parent's id is in Tree.orphans
)

// node is what the tree keeps of an entry, together with its link. Bytes, body and parts are read on demand.
type node struct {
	id     EntryID
	offset int64
	length int64
	line   int32
	flags  nodeFlags
}

// link is what a walk along a path needs of an entry. Links are kept apart so that walking a path touches 1/6 of the memory.
type link struct {
	parent int32
	typ    uint16 // index into Tree.types
	kind   Kind
	role   Role
}

type nodeFlags uint8

const (
	derivedID  nodeFlags = 1 << iota // the log has no id for it
	migrated                         // of an old version
	inOrder                          // the parent is the entry before it, not a named one
	cutCycle                         // a cycle of parents is cut open here for display
	aside                            // it does not move the leaf
	joined                           // it belongs to its parent and begins no branch
	repeats                          // an earlier entry may have its id; settle decides
	ownMessage                       // the entry's own id is also that of its message
)

// Tree holds the entries of one session. Only the Builder that made it changes it. Goroutines may read it concurrently as
// long as the Builder adds nothing.
type Tree struct {
	name     string
	header   Header
	nodes    []node
	links    []link // as many as nodes
	ids      idTable
	types    []string
	leaf     int32 // index, or noParent for "before the first entry"
	labels   map[EntryID]string
	orphans  map[int32]EntryID
	natives  map[int32]EntryID // original ids where the tree uses another
	problems []Problem
	cyclic   bool
	// keptByIndex holds, for compactions of version 1, the index of the first entry that they keep, or -1.
	keptByIndex map[int32]int32
	pending     map[int32][]byte // records that are not in a log yet
	foreign     map[int32][]byte // records of other logs, where there is no source to read them from
	others      []other          // where the records of other logs are read from
	whole       map[int32][]byte // whole records of which the log has only a part
	pieces      []piece          // the entries that continue a message, in order
	before      *Before          // nil if the log was read from its beginning

	source Source
	codec  Codec

	// The lists of children are made on demand and extended after the tree has grown.
	linking               sync.Mutex
	linked                int
	firstChild, lastChild []int32
	nextSibling           []int32
	firstRoot, lastRoot   int32
}

// Name is the log's name, for error messages.
func (t *Tree) Name() string { return t.name }

// Header is the header of the log.
func (t *Tree) Header() Header { return t.header }

// Len is the number of entries.
func (t *Tree) Len() int { return len(t.nodes) }

// Codec looks inside the entries.
func (t *Tree) Codec() Codec { return t.codec }

// Rules says how contexts of this tree's dialect differ from those of others.
func (t *Tree) Rules() Rules { return t.codec.Rules() }

// Replayed reports whether the messages of a context are made from the path as a whole: see Replayer.
func (t *Tree) Replayed() bool {
	_, ok := t.codec.EntryCodec.(Replayer)
	return ok
}

// Problems lists what is wrong with the log, in the order in which it was found.
func (t *Tree) Problems() []Problem { return t.problems }

// At returns the entry at a position in file order, 0 ≤ i < Len.
func (t *Tree) At(i int) Entry {
	n, l := &t.nodes[i], t.links[i]
	e := Entry{
		ID: n.id, Kind: l.kind, Role: l.role, Type: t.types[l.typ], Index: i,
		Span: Span{n.offset, n.length}, Line: int(n.line), Migrated: n.flags&migrated != 0,
		tree: t,
	}
	switch {
	case l.parent >= 0:
		e.Parent = t.nodes[l.parent].id
	case l.parent == orphaned:
		e.Parent = t.orphans[int32(i)]
	}
	if len(t.pending) > 0 && !e.Durable() {
		e.Line = 0
	}
	e.NativeID = n.id
	if n.flags&derivedID != 0 {
		e.NativeID = t.natives[int32(i)]
	}
	return e
}

// Above returns the position of an entry's parent, -1 for a root, and -2 where the log lacks the parent.
func (t *Tree) Above(i int) int {
	switch p := t.links[i].parent; p {
	case noParent:
		return -1
	case orphaned:
		return -2
	default:
		return int(p)
	}
}

// Next returns the entry after another one on the path to e. ok is false if the path does not have it within so many steps from e.
func (t *Tree) Next(id EntryID, e Entry, within int) (next Entry, ok bool) {
	for i := int32(e.Index); within > 0; within-- {
		above := t.links[i].parent
		if above < 0 {
			break
		}
		if t.nodes[above].id == id {
			return t.At(int(i)), true
		}
		i = above
	}
	return next, false
}

// Entries iterates over all entries in file order.
func (t *Tree) Entries() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for i := range t.nodes {
			if !yield(t.At(i)) {
				return
			}
		}
	}
}

// Lookup finds an entry by id. If several have the id, it finds the last.
func (t *Tree) Lookup(id EntryID) (Entry, bool) {
	i := t.ids.find(t.nodes, id)
	if i < 0 {
		return Entry{}, false
	}
	return t.At(int(i)), true
}

// Has reports whether an entry has the id.
func (t *Tree) Has(id EntryID) bool { return t.ids.find(t.nodes, id) >= 0 }

// Get is Lookup with an error that names the entry.
func (t *Tree) Get(id EntryID) (Entry, error) {
	e, ok := t.Lookup(id)
	if !ok {
		return Entry{}, unknownEntry(id)
	}
	return e, nil
}

// Leaf is where the conversation is now; ok is false before the first entry.
func (t *Tree) Leaf() (e Entry, ok bool) {
	if t.leaf < 0 {
		return Entry{}, false
	}
	return t.At(int(t.leaf)), true
}

// LeafID is the id of Leaf, "" before the first entry.
func (t *Tree) LeafID() EntryID {
	if t.leaf < 0 {
		return ""
	}
	return t.nodes[t.leaf].id
}

// Label returns the label of an entry, "" where it has none.
func (t *Tree) Label(id EntryID) string { return t.labels[id] }

// Labels iterates over the labels, in no particular order. A label may belong to an id that no entry has.
func (t *Tree) Labels() iter.Seq2[EntryID, string] { return maps.All(t.labels) }

// Roots returns the entries without a parent in the tree: roots, orphans, and one entry of each cycle.
func (t *Tree) Roots() []Entry {
	t.link()
	return t.siblings(t.firstRoot)
}

// Children returns the children of an entry, in file order.
func (t *Tree) Children(id EntryID) []Entry {
	i := t.ids.find(t.nodes, id)
	if i < 0 {
		return nil
	}
	t.link()
	return t.siblings(t.firstChild[i])
}

func (t *Tree) siblings(i int32) []Entry {
	var list []Entry
	for ; i >= 0; i = t.nextSibling[i] {
		list = append(list, t.At(int(i)))
	}
	return list
}

// link extends the lists of children by the entries that were added since the last call.
func (t *Tree) link() {
	t.linking.Lock()
	defer t.linking.Unlock()
	if t.linked == 0 {
		t.firstRoot, t.lastRoot = -1, -1
		t.firstChild, t.lastChild, t.nextSibling = nil, nil, nil
	}
	none := slices.Repeat([]int32{-1}, len(t.nodes)-t.linked)
	t.firstChild = append(t.firstChild, none...)
	t.lastChild = append(t.lastChild, none...)
	t.nextSibling = append(t.nextSibling, none...)
	for ; t.linked < len(t.nodes); t.linked++ {
		t.linkOne(int32(t.linked))
	}
}

func (t *Tree) linkOne(i int32) {
	first, last := &t.firstRoot, &t.lastRoot
	if p := t.links[i].parent; p >= 0 && t.nodes[i].flags&cutCycle == 0 {
		first, last = &t.firstChild[p], &t.lastChild[p]
	}
	if *last < 0 {
		*first = i
	} else {
		t.nextSibling[*last] = i
	}
	*last = i
}

// Path returns the path from a root to an entry. It begins below a missing parent; in a cycle it begins at the first
// repeat. The empty id gives the empty path, an unknown id an error.
func (t *Tree) Path(leaf EntryID) (Path, error) {
	p := Path{tree: t}
	if leaf == "" {
		return p, nil
	}
	i := t.ids.find(t.nodes, leaf)
	if i < 0 {
		return p, unknownEntry(leaf)
	}
	p.index = t.walk(i)
	return p, nil
}

// PathAt returns the path from the root to the entry at an index, which need not be the one that its id stands for.
func (t *Tree) PathAt(index int) Path { return Path{tree: t, index: t.walk(int32(index))} }

func (t *Tree) walk(i int32) []int32 {
	if n, ok := t.codec.EntryCodec.(Navigator); ok {
		return t.chosenPath(n, i)
	}
	var seen []bool
	if t.cyclic {
		seen = make([]bool, len(t.nodes))
	}
	// The slice is filled from its end, so that it need not be reversed: this saves a third of the time for a long path.
	path := make([]int32, 64)
	begin := len(path)
	for ; i >= 0; i = t.links[i].parent {
		if seen != nil {
			if seen[i] {
				break
			}
			seen[i] = true
		}
		if begin == 0 {
			begin = len(path)
			path = append(make([]int32, begin, 2*begin), path...)
		}
		begin--
		path[begin] = i
	}
	return path[begin:]
}

// chosenPath asks the Navigator for the path to an entry. Positions that do not exist are left out.
func (t *Tree) chosenPath(n Navigator, to int32) []int32 {
	var path []int32
	for _, i := range n.Path(t, int(to)) {
		if i >= 0 && i < len(t.nodes) {
			path = append(path, int32(i))
		}
	}
	return path
}

// OnActivePath reports for each entry, by index, whether it is on the path to the leaf.
func (t *Tree) OnActivePath() []bool {
	on := make([]bool, len(t.nodes))
	if t.leaf >= 0 {
		for _, i := range t.walk(t.leaf) {
			on[i] = true
		}
	}
	return on
}

// Tips counts the branch tips: entries of a branch with no later entry of a branch below them. Labels, leaf moves, entries beside
// the conversation and results that belong to their parent do not count.
func (t *Tree) Tips() int {
	tips, below := t.tips(len(t.nodes))
	ends, _ := t.open(len(t.nodes), below)
	for _, end := range ends {
		if end != nil {
			tips++
		}
	}
	return tips
}

// seen returns the record from which the content of an entry is read.
func (t *Tree) seen(i int) ([]byte, error) {
	if b, ok := t.whole[int32(i)]; ok {
		return b, nil
	}
	return t.raw(i)
}

// other is a range of consecutive entries whose records are in the same other log.
type other struct {
	from, to int32
	source   Source
}

// sourceOf returns the source of an entry's record; foreign is true for another log.
func (t *Tree) sourceOf(i int32) (s Source, foreign bool) {
	for k := range t.others {
		if o := &t.others[k]; i >= o.from && i < o.to {
			return o.source, true
		}
	}
	return t.source, false
}

func (t *Tree) raw(i int) ([]byte, error) {
	if b, ok := t.pending[int32(i)]; ok {
		return b, nil
	}
	if b, ok := t.foreign[int32(i)]; ok {
		return b, nil
	}
	n := &t.nodes[i]
	source, _ := t.sourceOf(int32(i))
	b, err := source.Bytes(Span{n.offset, n.length})
	if err != nil {
		return nil, fmt.Errorf("%s:%d (byte %d): %w", t.name, n.line, n.offset, err)
	}
	return b, nil
}
