package session

import (
	"cmp"
	"slices"
	"sort"
)

// piece is an entry that continues a message.
type piece struct {
	node  int32
	first int32 // the first entry of the message, or earlier
}

// earlier is the position of an entry before the place where reading began.
const earlier = -1

// recentMessages is how many messages Before keeps. The pieces of a message stand near each other, also where sub-agents
// write at the same time.
const recentMessages = 16

// message is a message that has an id, with its first entry.
type message struct {
	id    string
	first int32
}

// messages are those whose pieces were added.
type messages struct {
	first map[string]int32
	begun []message // those with a first entry in the part that was read, in order
	last  message   // the one of the last piece
}

// noteMessage notes the first entry of the message that entry i is a piece of. The other pieces begin no branch.
func (b *Builder) noteMessage(i int32, id []byte) {
	t, m := b.t, &b.messages
	if m.last.id != string(id) || m.first == nil { // most pieces follow each other
		m.last = b.messageOf(i, id)
	}
	if m.last.first != i {
		t.pieces = append(t.pieces, piece{i, m.last.first})
		t.nodes[i].flags |= joined
	}
}

// messageOf finds a message, or begins it with entry i.
func (b *Builder) messageOf(i int32, id []byte) message {
	m := &b.messages
	if m.first == nil {
		m.first = make(map[string]int32, cap(b.t.nodes)/4)
		if b.t.before != nil {
			for _, id := range b.t.before.Messages {
				m.first[id] = earlier
			}
		}
	}
	if first, ok := m.first[string(id)]; ok {
		return message{string(id), first}
	}
	next := message{string(b.keep(id)), i}
	m.first[next.id] = i
	m.begun = append(m.begun, next)
	return next
}

// recent gives the last messages that began before the entry at n.
func (b *Builder) recent(n int) (ids []string) {
	if b.t.before != nil {
		ids = slices.Clone(b.t.before.Messages)
	}
	begun := b.messages.begun
	k := sort.Search(len(begun), func(k int) bool { return int(begun[k].first) >= n })
	for _, m := range begun[max(0, k-recentMessages):k] {
		ids = append(ids, m.id)
	}
	return ids[max(0, len(ids)-recentMessages):]
}

// FirstPiece gives what Entry.FirstPiece gives for the entry at a position.
func (b *Builder) FirstPiece(i int) int { return b.t.firstPiece(i) }

func (t *Tree) firstPiece(i int) int {
	n := len(t.pieces)
	if n == 0 || int(t.pieces[n-1].node) < i { // an entry that was just added
		return i
	}
	if k, ok := slices.BinarySearchFunc(t.pieces, int32(i), func(p piece, i int32) int { return cmp.Compare(p.node, i) }); ok {
		return int(t.pieces[k].first)
	}
	return i
}
