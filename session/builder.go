package session

import (
	"bytes"
	"math"
	"slices"
	"strings"
)

// Envelope is what a decoder tells a Builder of one entry. The byte slices may point into the record: the Builder copies
// what it keeps.
type Envelope struct {
	// ID is the entry's id as text; nil where the record has none, then the Builder derives one.
	ID []byte
	// Made: the record has none, and the decoder made ID up. It must be the same each time the log is read, and no other
	// entry's.
	Made bool
	// Parent is the parent's id; nil for a root. InOrder says that the parent is the entry added before.
	Parent  []byte
	InOrder bool
	Kind    Kind
	Role    Role
	// Type is the dialect's name of the kind. It may point into the record.
	Type []byte
	// Span and Line: where the record stands.
	Span Span
	Line int
	// Migrated marks an entry of an old version.
	Migrated bool
	// Target and Label are the content of KindLabel; Target that of KindLeaf (nil: before the first entry).
	Target, Label []byte
	// KeepIndex is, where HasKeepIndex is set, the index of the entry that a compaction of version 1 keeps from (-1:
	// none).
	KeepIndex    int
	HasKeepIndex bool
	// Record is the entry's record: some of it goes into a derived id.
	Record []byte
	// Aside: the entry does not move the leaf. It is one of a side conversation, or no part of any.
	Aside bool
	// Message is the id of the message that the record is a piece of; nil where the record holds a whole one. Entries
	// with the same id form one message, whatever stands between them: see Joiner and Entry.FirstPiece.
	Message []byte
	// Foreign: the record is one of another log, which the decoder asked for. The tree keeps Record itself. Span and
	// Line are those in the other log.
	Foreign bool
	// Repeats allows ids to occur again: the later entry gets "<id>~2" and keeps its own as NativeID, which is no
	// Problem.
	Repeats bool
}

// Builder makes a Tree from envelopes, in file order.
type Builder struct {
	t          *Tree
	arena      *strings.Builder
	unresolved map[int32]EntryID // parents that were not there yet
	targets    []target
	checked    int       // of targets, those that were looked for
	missing    []missing // what entries name and the log does not have
	has        func(EntryID) bool
	duplicates bool
	forward    bool // some parent stands behind its child: only then can there be a circle
	lastType   uint16
	leafMoves  []leafMove
	moved      int              // of leafMoves, those that were replayed
	pending    bool             // entries that are added are in no log yet
	finished   bool             // the tree was given away
	indexed    int              // entries whose ids are in the table
	messages   map[string]int32 // the first entry of a message that may span several
	navigated  int              // entries that were there when the Navigator chose the leaf
}

// target is what a label says: that of the entry is on, or is taken away.
type target struct {
	id   EntryID
	node int32
	on   bool
}

// missing is an id that no entry has, and who names it.
type missing struct {
	id   EntryID
	node int32
}

// leafMove is a durable leaf: after the entry at that index the leaf is the target.
type leafMove struct {
	after int32
	to    EntryID
	none  bool
}

// NewBuilder begins a tree. The name is that of the log, for Problems.
func NewBuilder(name string, source Source) *Builder {
	return &Builder{
		t:     &Tree{name: name, source: source, leaf: noParent},
		arena: new(strings.Builder),
	}
}

// SetCodec says who looks inside entries.
func (b *Builder) SetCodec(c Codec) { b.t.codec = c }

// SetHeader says what the log's first record is.
func (b *Builder) SetHeader(h Header) { b.t.header = h }

// Header is what SetHeader said.
func (b *Builder) Header() Header { return b.t.header }

// Len is the number of entries so far.
func (b *Builder) Len() int { return len(b.t.nodes) }

// Problem reports something wrong. The file's name is filled in.
func (b *Builder) Problem(p Problem) {
	b.index() // what is wrong with ids of earlier entries comes first
	b.report(p)
}

func (b *Builder) report(p Problem) {
	if p.File == "" {
		p.File = b.t.name
	}
	b.t.problems = append(b.t.problems, p)
}

// keep copies an id. Ids share large pieces of memory: one small allocation for each would cost more than the scan.
func (b *Builder) keep(id []byte) EntryID {
	if b.arena.Cap()-b.arena.Len() < len(id) {
		b.arena = new(strings.Builder)
		b.arena.Grow(max(len(id), 16<<10))
	}
	start := b.arena.Len()
	b.arena.Write(id)
	return EntryID(b.arena.String()[start:])
}

func (b *Builder) typeIndex(name []byte) uint16 {
	t := b.t
	if int(b.lastType) < len(t.types) && t.types[b.lastType] == string(name) {
		return b.lastType
	}
	for i, known := range t.types {
		if known == string(name) {
			b.lastType = uint16(i)
			return b.lastType
		}
	}
	if len(t.types) >= 256 { // hostile: a new type in each record
		name = []byte("?")
		for i, known := range t.types {
			if known == "?" {
				return uint16(i)
			}
		}
	}
	t.types = append(t.types, string(name))
	b.lastType = uint16(len(t.types) - 1)
	return b.lastType
}

// Add adds an entry behind the others and moves the leaf to it.
func (b *Builder) Add(env *Envelope) {
	t := b.t
	if len(t.nodes) >= math.MaxInt32-1 {
		b.Problem(Problem{Line: env.Line, Offset: env.Span.Offset, Kind: ProblemUnreadable,
			Message: "more than 2,147,483,646 entries", Advice: "the rest was left out"})
		return
	}
	i := int32(len(t.nodes))
	n := node{offset: env.Span.Offset, length: env.Span.Length, line: int32(env.Line)}
	l := link{parent: noParent, kind: env.Kind, role: env.Role, typ: b.typeIndex(env.Type)}
	if env.Migrated {
		n.flags |= migrated
	}
	if env.Aside {
		n.flags |= aside
	}
	switch {
	case env.InOrder:
		l.parent = i - 1
		n.flags |= inOrder
		if i == 0 && t.before != nil && len(t.before.Ends) > 0 {
			l.parent, t.orphans = orphaned, map[int32]EntryID{0: t.before.Ends[0][0]}
		}
	case env.Parent != nil:
		l.parent = b.resolve(i, env.Parent)
	}
	switch {
	case env.ID == nil:
		n.id = b.keep(hexOf(b.hash(i, env.Record)))
		n.flags |= derivedID
	case env.Repeats && b.taken(EntryID(env.ID)):
		b.setNative(i, EntryID(env.ID))
		n.id = b.repeat(env.ID)
		n.flags |= derivedID
	default:
		n.id = b.keep(env.ID)
		if env.Made {
			n.flags |= derivedID
		}
	}
	if len(t.nodes) == cap(t.nodes) && b.finished {
		// Twice as much: the quarter that append gives a long list is copied, and thrown away, all too soon.
		t.nodes = slices.Grow(t.nodes, max(len(t.nodes), 16))
		t.links = slices.Grow(t.links, max(len(t.links), 16))
	}
	t.nodes = append(t.nodes, n)
	t.links = append(t.links, l)
	if b.finished || len(t.nodes)-b.indexed >= indexAtOnce {
		b.index()
	}
	b.note(i, env)
	if !env.Aside {
		t.leaf = i
	}
	if b.pending {
		if t.pending == nil {
			t.pending = map[int32][]byte{}
		}
		t.pending[i] = bytes.Clone(env.Record)
	}
}

// Pending says whether entries that are added from now on are in no log yet: the tree then keeps their records. Their
// spans and lines are those that they will have.
func (b *Builder) Pending(on bool) { b.pending = on }

// Written says that all entries are in the log now, where it was said that they would be.
func (b *Builder) Written() {
	b.pending = false
	b.t.pending = nil
}

// SetLeaf moves the leaf; "" is the place before the first entry.
func (b *Builder) SetLeaf(id EntryID) error {
	t := b.t
	if id == "" {
		t.leaf = noParent
		return nil
	}
	i := b.find(id)
	if i < 0 {
		return unknownEntry(id)
	}
	t.leaf = i
	return nil
}

// SetSource says where the bytes of entries are read from now on.
func (b *Builder) SetSource(s Source) { b.t.source = s }

// resolve finds a parent. Nearly always it is the entry before; where it is not there yet, Finish looks again.
func (b *Builder) resolve(i int32, parent []byte) int32 {
	t := b.t
	if i > 0 && string(t.nodes[i-1].id) == string(parent) {
		return i - 1
	}
	if p := b.find(EntryID(parent)); p >= 0 {
		return p
	}
	if b.unresolved == nil {
		b.unresolved = map[int32]EntryID{}
	}
	b.unresolved[i] = b.keep(parent)
	return orphaned
}

// note keeps what labels, leaves and compactions of version 1 say.
func (b *Builder) note(i int32, env *Envelope) {
	t := b.t
	if env.Message != nil {
		b.noteMessage(i, env.Message)
	}
	if env.Foreign {
		if t.foreign == nil {
			t.foreign = map[int32][]byte{}
		}
		t.foreign[i] = env.Record
	}
	switch {
	case env.Kind == KindLabel && env.Target != nil:
		if t.labels == nil {
			t.labels = map[EntryID]string{}
		}
		id := EntryID(env.Target)
		if len(env.Label) == 0 {
			delete(t.labels, id)
		} else {
			t.labels[id] = string(env.Label)
		}
		b.targets = append(b.targets, target{id, i, len(env.Label) > 0})
	case env.Kind == KindLeaf:
		b.leafMoves = append(b.leafMoves, leafMove{after: i, to: EntryID(env.Target), none: env.Target == nil})
	case env.HasKeepIndex:
		if t.keptByIndex == nil {
			t.keptByIndex = map[int32]int32{}
		}
		t.keptByIndex[i] = int32(env.KeepIndex)
	}
}

// noteMessage keeps which entries form one message: each names the first.
func (b *Builder) noteMessage(i int32, id []byte) {
	first, again := b.messages[string(id)]
	if !again {
		if b.messages == nil {
			b.messages = map[string]int32{}
		}
		b.messages[string(id)] = i
		return
	}
	if b.t.message == nil {
		b.t.message = map[int32]int32{}
	}
	b.t.message[i] = first
}

func (b *Builder) problemAt(i int32, kind ProblemKind, message, advice string) {
	n := &b.t.nodes[i]
	b.Problem(Problem{Line: int(n.line), Offset: n.offset, Kind: kind, Message: message, Advice: advice})
}
