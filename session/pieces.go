package session

import (
	"cmp"
	"slices"
	"sort"
)

// piece is an entry that continues a message.
type piece struct {
	node  int32
	first int32 // the first entry of the message, or the constant earlier
}

// earlier stands for an entry before the place where reading began.
const earlier = -1

// recentMessages is how many messages Before keeps. The pieces of a message stand near each other, even where sub-agents
// write at the same time.
const recentMessages = 16

// messages holds the messages that have an id, in the order of their first entries, those of Before first. If the log is read from
// its beginning, a message whose id is that of its first entry is left out: see settle.
type messages struct {
	list    []node // each with its id, where the table finds it
	first   []int32
	table   idTable
	indexed int // number of messages that are in the table
	last    int // the message of the last piece that was noted
}

// noteMessage notes which message entry i is a piece of. Only the first piece can begin a branch.
func (b *Builder) noteMessage(i int32, id []byte) {
	t, m := b.t, &b.messages
	if m.list == nil {
		m.list = make([]node, 0, 16)
		if t.before != nil {
			for _, id := range t.before.Messages {
				m.add(EntryID(id), earlier)
			}
		}
	}
	if len(m.list) == 0 || string(m.list[m.last].id) != string(id) { // most pieces of a message follow each other
		if m.last = m.find(EntryID(id)); m.last < 0 {
			m.add(b.keep(id), i)
		}
	}
	if first := m.first[m.last]; first != i {
		b.notePiece(i, first)
	}
}

// notePiece notes that entry i continues the message that begins with entry first.
func (b *Builder) notePiece(i, first int32) {
	b.t.pieces = append(b.t.pieces, piece{i, first})
	b.t.nodes[i].flags |= joined
}

// add begins a message with entry i.
func (m *messages) add(id EntryID, i int32) {
	m.last = len(m.list)
	m.list, m.first = append(m.list, node{id: id}), append(m.first, i)
}

// find returns the position of a message, or -1. The table is made at the first call.
func (m *messages) find(id EntryID) int {
	for ; m.indexed < len(m.list); m.indexed++ {
		m.table.insert(m.list, int32(m.indexed))
	}
	return int(m.table.find(m.list, id))
}

// recent returns the last messages that began before the entry at n.
func (b *Builder) recent(n int) (ids []string) {
	t, m := b.t, &b.messages
	if m.list == nil && t.before != nil {
		return slices.Clone(t.before.Messages)
	}
	for i := n - 1; i >= 0 && t.before == nil && len(ids) < recentMessages; i-- {
		if t.nodes[i].flags&ownMessage != 0 && t.firstPiece(i) == i {
			id, _ := b.NativeID(i)
			ids = append(ids, string(id))
		}
	}
	if len(ids) > 0 {
		slices.Reverse(ids)
		return ids
	}
	k := sort.Search(len(m.first), func(k int) bool { return int(m.first[k]) >= n })
	for i := max(0, k-recentMessages); i < k; i++ {
		ids = append(ids, string(m.list[i].id))
	}
	return ids
}

// FirstPiece is Entry.FirstPiece for the entry at a position.
func (b *Builder) FirstPiece(i int) int {
	b.settleAll()
	return b.t.firstPiece(i)
}

func (t *Tree) firstPiece(i int) int {
	n := len(t.pieces)
	if n == 0 || int(t.pieces[n-1].node) <= i { // an entry that was just added
		if n > 0 && int(t.pieces[n-1].node) == i {
			return int(t.pieces[n-1].first)
		}
		return i
	}
	if k, ok := slices.BinarySearchFunc(t.pieces, int32(i), func(p piece, i int32) int { return cmp.Compare(p.node, i) }); ok {
		return int(t.pieces[k].first)
	}
	return i
}
