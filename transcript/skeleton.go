package transcript

import (
	"strconv"
	"strings"

	"github.com/treeline-dev/treeline/session"
)

// Skeleton is the shape of a tree: which entries speak, and where the conversation forks. It is made without reading a record, and may be
// shared by the documents of a log as long as the log does not change.
//
// An entry speaks, and is a node of the skeleton, if it is a message, a summary or of unknown type. Labels, leaf moves, changes of state,
// notes of the agent's program, results of parallel calls and conversations of sub-agents do not speak: they make no branch.
type Skeleton struct {
	t *session.Tree
	// By index of the entry. The index after the last one stands for the position before the first entry, the parent of all roots.
	class       []class
	up          []int32 // nearest entry above that speaks
	first, next []int32 // children that speak, in the order of the log; -1 ends the list
	kids        []int32 // number of children that speak
	number      []int32 // number among the siblings, from 1; 0 for an entry that does not speak
	weight      []int32 // entries that speak at or below; 0 for an entry that does not speak
	tip         []int32 // newest end at or below; -1 for an entry that does not speak
	depth       []int32
	heads       []int32 // number of entries at or above that are worth a row
	sideways    []int32 // number of branches that leave the path to an entry, at or above it
	// order has the entries that speak, parents before children; place has the position of each entry in it.
	order []int32
	place []int32

	leaf     int32 // the nearest entry that speaks at or above the leaf of the session
	branches int
	sides    []int32 // the first entries of side conversations
}

// class has the properties of an entry that walking along a path needs.
type class uint16

const (
	speaks  class = 1 << iota
	note          // of the agent's program, for itself
	about         // a label or a leaf move, which is about another entry
	byUser        // a message of the user
	byModel       // a message of the model
	byTool        // a message with results
	model         // names the model
	aside         // a message of a side conversation
	later         // not the first record of its answer
)

// NewSkeleton returns the skeleton of a tree.
func NewSkeleton(t *session.Tree) *Skeleton {
	n := t.Len()
	k := &Skeleton{t: t, class: make([]class, n+1), leaf: int32(n)}
	k.classify()
	k.rise()
	k.link()
	k.walk()
	if leaf, ok := t.Leaf(); ok {
		k.leaf = k.speaking(int32(leaf.Index))
	}
	return k
}

// Branches returns the number of ends of the conversation.
func (k *Skeleton) Branches() int { return k.branches }

// Entries returns the number of entries that speak.
func (k *Skeleton) Entries() int { return len(k.order) }

// Through returns the leaf with which a window shows an entry: the session's leaf if the entry is on the path to it, otherwise the newest
// end below the entry. An entry that is not part of the conversation is its own leaf.
func (k *Skeleton) Through(id session.EntryID) (session.EntryID, error) {
	e, err := k.t.Get(id)
	if err != nil {
		return "", err
	}
	i := int32(e.Index)
	if k.class[i]&aside != 0 && k.class[i]&speaks == 0 {
		return id, nil
	}
	tip := k.end(k.speaking(i))
	if tip < 0 {
		return id, nil
	}
	return k.id(tip), nil
}

// Leads reports whether an entry is the leaf, or on the path to it.
func (k *Skeleton) Leads(id, leaf session.EntryID) bool {
	e, ok := k.t.Lookup(id)
	if !ok {
		return false
	}
	if id == leaf {
		return true
	}
	to, ok := k.t.Lookup(leaf)
	return ok && k.below(k.speaking(int32(to.Index)), k.speaking(int32(e.Index)))
}

// root returns the index of the position before the first entry.
func (k *Skeleton) root() int32 { return int32(k.t.Len()) }

// id returns the id of an entry, or "" for the position before the first.
func (k *Skeleton) id(i int32) session.EntryID {
	if i < 0 || i == k.root() {
		return ""
	}
	return k.t.At(int(i)).ID
}

// cursor identifies an entry in a later request. It is the id if that refers to the entry, which is the last one with the id.
func (k *Skeleton) cursor(e session.Entry) session.EntryID {
	if meant, ok := k.t.Lookup(e.ID); ok && meant.Index != e.Index {
		return k.numbered(e, 0)
	}
	return e.ID
}

// numbered identifies an entry by its id and its index, and a row of its messages by its number, unless that is 0. No entry has the result
// as its id.
func (k *Skeleton) numbered(e session.Entry, row int) session.EntryID {
	number := session.EntryID("@" + strconv.Itoa(e.Index))
	if row > 0 {
		number += session.EntryID("+" + strconv.Itoa(row))
	}
	name := e.ID + number
	for k.t.Has(name) {
		name += number
	}
	return name
}

// named returns the entry that an id or a cursor refers to, and the row of its messages.
func (k *Skeleton) named(id session.EntryID) (e session.Entry, row int, ok bool) {
	if e, ok = k.t.Lookup(id); ok {
		return e, 0, true
	}
	place, rest, _ := strings.Cut(string(id[strings.LastIndexByte(string(id), '@')+1:]), "+")
	n, err := strconv.Atoi(place)
	if err != nil || n < 0 || n >= k.t.Len() || !strings.HasPrefix(string(id), string(k.t.At(n).ID)+"@") {
		return session.Entry{}, 0, false
	}
	row, _ = strconv.Atoi(rest) // most cursors have none
	return k.t.At(n), row, true
}

// speaking returns the nearest entry that speaks, at or above an entry.
func (k *Skeleton) speaking(i int32) int32 {
	if i == k.root() || k.class[i]&speaks != 0 {
		return i
	}
	return k.up[i]
}

// classify computes the class of each entry from its envelope.
func (k *Skeleton) classify() {
	noter, _ := k.t.Codec().EntryCodec.(session.Noter)
	inline := k.t.Inline()
	for i := range inline {
		e := k.t.At(i)
		var c class
		switch e.Kind {
		case session.KindLabel, session.KindLeaf:
			c = about
		case session.KindCustom:
			c = note
		case session.KindModelChange:
			c = model
		case session.KindMessage, session.KindCompaction, session.KindBranchSummary, session.KindCustomMessage, session.KindOpaque, session.KindReset:
			if !inline[i] {
				c = speaks
			}
		}
		if e.Kind == session.KindMessage {
			if e.Aside() {
				c |= aside
			}
			switch e.Role {
			case session.RoleUser:
				c |= byUser
			case session.RoleAssistant:
				if c |= byModel; e.FirstPiece() != i {
					c |= later
				}
			case session.RoleTool:
				c |= byTool
			}
		}
		if c&about == 0 && noter != nil && noter.IsNote(e) {
			c = c&^speaks | note
		}
		k.class[i] = c
	}
}

// rise finds for each entry the nearest ancestor that speaks. Parents may come after their children in the log.
func (k *Skeleton) rise() {
	const unknown = -1
	n := k.t.Len()
	k.up = make([]int32, n+1)
	for i := range k.up {
		k.up[i] = unknown
	}
	isRoot := make([]bool, n)
	last := k.root() // the last entry before i that speaks
	roots := k.t.Roots()
	for _, e := range roots {
		isRoot[e.Index] = true
	}
	k.up[n] = k.root()
	joined := k.joining(isRoot)
	var climb []int32
	for i := range int32(n) {
		at := i
		climb = climb[:0]
		for k.up[at] == unknown {
			climb = append(climb, at)
			if isRoot[at] {
				k.up[at] = k.root()
				// A compaction without a parent continues at the entry before it.
				if at == i && k.class[i]&speaks != 0 && k.t.At(int(i)).Kind == session.KindCompaction && joined(i, last) {
					k.up[at] = last
				}
				break
			}
			at = int32(k.t.Above(int(at)))
			if k.class[at]&speaks != 0 {
				break
			}
		}
		above := at
		if k.class[at]&speaks == 0 {
			above = k.up[at]
		}
		for c := len(climb) - 1; c >= 0; c-- {
			x := climb[c]
			if k.up[x] == unknown {
				k.up[x] = above
			}
			if k.class[x]&speaks != 0 {
				above = x
			} else {
				above = k.up[x]
			}
		}
		if k.class[i]&speaks != 0 {
			last = i
		}
	}
	for i := range int32(n) {
		if k.class[i]&aside != 0 && k.class[i]&speaks == 0 && (isRoot[i] || k.class[k.t.Above(int(i))]&aside == 0) {
			k.sides = append(k.sides, i)
		}
	}
}

// joining returns a function that puts the tree of a root below another entry, unless the entry is in that tree: the parent of an earlier
// entry may come after the root in the log. The function reports whether it did.
func (k *Skeleton) joining(isRoot []bool) func(root, below int32) bool {
	above := make([]int32, len(isRoot)) // an ancestor, or the root itself; walking along the path to the root shortens it
	for i := range above {
		if above[i] = int32(i); !isRoot[i] {
			above[i] = int32(k.t.Above(i))
		}
	}
	return func(root, below int32) bool {
		if below == k.root() {
			return false
		}
		at := below
		for above[at] != at {
			above[at] = above[above[at]]
			at = above[at]
		}
		if at != root {
			above[root] = below
		}
		return at != root
	}
}

// link builds the lists of children.
func (k *Skeleton) link() {
	n := k.t.Len()
	k.first, k.next = make([]int32, n+1), make([]int32, n+1)
	for i := range k.first {
		k.first[i], k.next[i] = -1, -1
	}
	for i := int32(n) - 1; i >= 0; i-- { // backwards, because each entry is inserted before its siblings
		if k.class[i]&speaks != 0 {
			up := k.up[i]
			k.next[i], k.first[up] = k.first[up], i
		}
	}
	k.kids, k.number = make([]int32, n+1), make([]int32, n+1)
	for i := range n {
		if k.class[i]&speaks != 0 {
			k.kids[k.up[i]]++
			k.number[i] = k.kids[k.up[i]]
		}
	}
}

// walk orders the entries so that parents come first, and computes the sums backwards along this order.
func (k *Skeleton) walk() {
	n := k.t.Len()
	k.weight, k.tip, k.depth, k.place = make([]int32, n+1), make([]int32, n+1), make([]int32, n+1), make([]int32, n+1)
	k.heads, k.sideways = make([]int32, n+1), make([]int32, n+1)
	for i := range k.tip {
		k.tip[i], k.place[i] = -1, -1
	}
	at := k.first[n]
	for at >= 0 {
		up := k.up[at]
		k.depth[at] = k.depth[up] + 1
		k.heads[at], k.sideways[at] = k.heads[up], k.sideways[up]+max(k.kids[at]-1, 0)
		if k.isHead(at) {
			k.heads[at]++
		}
		k.place[at] = int32(len(k.order))
		k.order = append(k.order, at)
		if k.first[at] >= 0 {
			at = k.first[at]
			continue
		}
		for at != k.root() && k.next[at] < 0 {
			at = k.up[at]
		}
		if at == k.root() {
			break
		}
		at = k.next[at]
	}
	for o := len(k.order) - 1; o >= 0; o-- {
		i := k.order[o]
		if k.first[i] < 0 {
			k.tip[i] = i
			k.branches++
		}
		k.weight[i]++
		up := k.up[i]
		k.weight[up] += k.weight[i]
		k.tip[up] = max(k.tip[up], k.tip[i])
	}
}

// below reports whether an entry that speaks is at or below another.
func (k *Skeleton) below(i, top int32) bool {
	if top == k.root() || i == top {
		return true
	}
	return i != k.root() && k.place[i] >= k.place[top] && k.place[i] < k.place[top]+k.weight[top]
}

// end returns the end of the conversation below an entry: the leaf of the session if it is there, otherwise the newest end.
func (k *Skeleton) end(i int32) int32 {
	if k.below(k.leaf, i) && k.leaf != k.root() {
		return k.leafIndex()
	}
	return k.tip[i]
}

// leafIndex returns the index of the session's leaf, which need not speak.
func (k *Skeleton) leafIndex() int32 {
	if e, ok := k.t.Leaf(); ok {
		return int32(e.Index)
	}
	return k.leaf
}

// isHead reports whether an entry is worth a row of a drawing. Results of calls and further records of an answer are not, unless something
// begins or ends there.
func (k *Skeleton) isHead(i int32) bool {
	c, up := k.class[i], k.up[i]
	more := c&(byTool|later) != 0 || c&byModel != 0 && k.class[up]&byModel != 0
	return !more || k.kids[i] != 1 || k.forks(up)
}

// forks reports whether several branches begin after an entry.
func (k *Skeleton) forks(i int32) bool { return k.kids[i] > 1 }
