package session

import (
	"bytes"
	"math"
	"slices"
	"strings"
)

// Envelope is what a decoder tells a Builder about one entry. The byte slices may point into the record: the Builder
// copies what it keeps.
type Envelope struct {
	// ID is the entry's id; empty where the record has none. The Builder then derives one.
	ID []byte
	// Made: the record has no id and the decoder made one up. It must be unique and the same each time the log is read.
	Made bool
	// Parent is the parent's id; nil for a root. InOrder: the parent is the entry that was added last.
	Parent  []byte
	InOrder bool
	Kind    Kind
	Role    Role
	// Type is the dialect's name of the kind.
	Type []byte
	// Span and Line say where the record is.
	Span Span
	Line int
	// Migrated marks an entry of an old version.
	Migrated bool
	// Target and Label are the content of KindLabel; Target alone is that of KindLeaf (nil: before the first entry).
	Target, Label []byte
	// KeepIndex is the index of the first entry that a compaction of version 1 keeps (-1: none), if HasKeepIndex is set.
	KeepIndex    int
	HasKeepIndex bool
	// Record is the entry's record. A derived id depends on its beginning.
	Record []byte
	// Aside: the entry does not move the leaf, because it belongs to a side conversation or to none.
	Aside bool
	// Joined: the entry belongs to its parent and begins no branch, such as the result of one of several parallel calls.
	Joined bool
	// Message is the id of the message that the record is a piece of; nil if the record holds a whole message. Entries with the
	// same id form one message, even with other records between them: see Entry.FirstPiece. If Repeats is set, Message is ID or nil.
	Message []byte
	// Foreign: the record is from another log, which the decoder asked for. Span and Line are those in the other log, and Source
	// reads it there. Source is a pointer; where it is nil, the tree keeps Record without copying it.
	Foreign bool
	Source  Source
	// Repeats: ids may repeat. The later entry gets "<id>~2" and keeps its own id as NativeID; that is not a Problem.
	Repeats bool
}

// Builder makes a Tree from envelopes, in file order.
type Builder struct {
	t          *Tree
	arena      *strings.Builder
	unresolved map[int32]EntryID // entry → its parent, which does not exist yet
	targets    []target
	expected   int64     // size of the log in bytes; 0 if unknown
	checked    int       // number of targets that were checked
	missing    []missing // ids that entries name and the log does not have
	has        func(EntryID) bool
	duplicates bool
	sides      bool       // see SetSides
	forward    bool       // a parent stands after its child; without one there is no cycle
	lastTypes  [16]uint16 // the last type by length and first letter; see typeIndex
	leafMoves  []leafMove
	moved      int                 // number of leafMoves that were replayed
	pending    bool                // new entries are not yet in a log
	finished   bool                // Finish was called
	owned      bool                // no context reads nodes and links; see own
	indexed    int                 // number of entries whose ids are in the table
	hashes     [indexAtOnce]uint64 // of the ids that enter the table together
	messages   messages
	hashed     struct { // the part of a hash that comes from the session id; see hash
		id  ID
		sum uint64
	}
	repeats   map[string]int // id → the last number that repeat gave it
	repeated  func(at, first int)
	unsettled bool // some entries have not been through settle
	navigated int  // number of entries when the Navigator last chose the leaf
}

// target is what a label entry says about another entry: its label is set or removed.
type target struct {
	id   EntryID
	node int32
	on   bool
}

// missing is an id that no entry has, and the entry that names it.
type missing struct {
	id   EntryID
	node int32
}

// leafMove is a durable leaf: after the entry at index after, the leaf is the entry to.
type leafMove struct {
	after  int32
	to     EntryID
	none   bool
	before int32 // the previous leaf, if the target did not exist when the move was replayed
}

// NewBuilder begins a tree. name is that of the log, for Problems.
func NewBuilder(name string, source Source) *Builder {
	return &Builder{
		t:     &Tree{name: name, source: source, leaf: noParent},
		arena: new(strings.Builder),
	}
}

// SetCodec sets the codec that looks inside entries.
func (b *Builder) SetCodec(c Codec) { b.t.codec = c }

// SetHeader sets the header of the log.
func (b *Builder) SetHeader(h Header) { b.t.header = h }

// Header returns the header that was set.
func (b *Builder) Header() Header { return b.t.header }

// Len is the number of entries so far.
func (b *Builder) Len() int { return len(b.t.nodes) }

// Problem reports something wrong and fills in the name of the log.
func (b *Builder) Problem(p Problem) {
	b.index() // problems with the ids of earlier entries come first
	b.report(p)
}

func (b *Builder) report(p Problem) {
	if p.File == "" {
		p.File = b.t.name
	}
	b.t.problems = append(b.t.problems, p)
}

// keep copies an id. Ids share large allocations: one for each id would cost more than the scan.
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
	key := len(name)
	if key > 0 {
		key += int(name[0]) // otherwise $set and user, which alternate and are equally long, would share a slot
	}
	last := &b.lastTypes[key%len(b.lastTypes)]
	if int(*last) < len(t.types) && t.types[*last] == string(name) {
		return *last
	}
	// Converting inside the closure makes no copy; converting an argument would.
	i := slices.IndexFunc(t.types, func(typ string) bool { return typ == string(name) })
	if i < 0 && len(t.types) >= 256 { // hostile: a new type in each record
		name = []byte("?")
		i = slices.Index(t.types, "?")
	}
	if i < 0 {
		i = len(t.types)
		t.types = append(t.types, string(name))
	}
	*last = uint16(i)
	return *last
}

// Add appends an entry and moves the leaf to it, unless the entry is Aside.
func (b *Builder) Add(env *Envelope) {
	t := b.t
	if len(t.nodes) >= math.MaxInt32-1 {
		b.Problem(Problem{Line: env.Line, Offset: env.Span.Offset, Kind: ProblemUnreadable,
			Message: "more than 2,147,483,646 entries", Advice: "the rest was left out"})
		return
	}
	i := int32(len(t.nodes))
	flags, parent := env.flags(), int32(noParent)
	switch {
	case env.InOrder:
		parent = i - 1
		if i == 0 && t.before != nil && t.before.Last != "" {
			parent, t.orphans = orphaned, map[int32]EntryID{0: t.before.Last}
		}
	case env.Parent != nil:
		parent = b.resolve(i, env.Parent)
	}
	var id EntryID
	switch {
	case len(env.ID) == 0:
		id = b.keep(hexOf(b.hash(i, env.Record)))
		flags |= derivedID
	default:
		id = b.keep(env.ID)
	}
	if len(t.nodes) == cap(t.nodes) {
		b.grow(env.Span.Offset)
	}
	// The node is set in place: copying a value that was just written would stall the processor.
	t.nodes = t.nodes[:i+1]
	n := &t.nodes[i]
	n.id, n.offset, n.length, n.line, n.flags = id, env.Span.Offset, env.Span.Length, int32(env.Line), flags
	b.unsettled = b.unsettled || flags&repeats != 0
	t.links = append(t.links, link{parent: parent, kind: env.Kind, role: env.Role, typ: b.typeIndex(env.Type)})
	if b.finished || len(t.nodes)-b.indexed >= indexAtOnce {
		b.index()
	}
	b.note(i, env)
	if !env.Aside {
		t.leaf = i
	}
	if b.pending {
		put(&t.pending, i, bytes.Clone(env.Record))
	}
}

// flags returns the flags of the entry's node.
func (env *Envelope) flags() (f nodeFlags) {
	if env.Made {
		f = derivedID
	}
	if env.Migrated {
		f |= migrated
	}
	if env.Aside {
		f |= aside
	}
	if env.Joined {
		f |= joined
	}
	if env.InOrder {
		f |= inOrder
	}
	if env.Repeats && len(env.ID) > 0 {
		f |= repeats
		if env.Message != nil {
			f |= ownMessage
		}
	}
	return f
}

// Pending says whether entries that are added from now on are not yet in a log. The tree keeps their records. Their spans and
// lines are those that they will have there.
func (b *Builder) Pending(on bool) { b.pending = on }

// Written says that all pending entries are now in the log, at their spans.
func (b *Builder) Written() {
	b.pending = false
	b.t.pending = nil
}

// SetWhole sets the whole record of the entry at a position, of which the log has only a part: see Entry.Whole. The tree keeps
// the record without copying it.
func (b *Builder) SetWhole(i int, record []byte) { put(&b.t.whole, int32(i), record) }

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

// resolve finds a parent, which is nearly always the entry before. Finish resolves one that does not exist yet.
func (b *Builder) resolve(i int32, parent []byte) int32 {
	t := b.t
	if i > 0 && string(t.nodes[i-1].id) == string(parent) {
		return i - 1
	}
	// The parent may also be the leaf, with Aside entries after it. If one of those has the same id, Finish corrects the parent.
	if l := t.leaf; l >= 0 && string(t.nodes[l].id) == string(parent) {
		return l
	}
	if p := b.find(EntryID(parent)); p >= 0 {
		return p
	}
	put(&b.unresolved, i, b.keep(parent))
	return orphaned
}

// note keeps what labels, leaf moves and compactions of version 1 say.
func (b *Builder) note(i int32, env *Envelope) {
	t := b.t
	if env.Message != nil && (!env.Repeats || len(env.ID) == 0) { // else see settle
		b.noteMessage(i, env.Message)
	}
	if env.Foreign {
		b.noteForeign(i, env)
	}
	switch {
	case env.Kind == KindLabel && env.Target != nil:
		id := EntryID(env.Target)
		put(&t.labels, id, string(env.Label))
		if len(env.Label) == 0 {
			delete(t.labels, id)
		}
		b.targets = append(b.targets, target{id, i, len(env.Label) > 0})
	case env.Kind == KindLeaf:
		b.leafMoves = append(b.leafMoves, leafMove{after: i, to: EntryID(env.Target), none: env.Target == nil})
	case env.HasKeepIndex:
		put(&t.keptByIndex, i, int32(env.KeepIndex))
	}
}

// noteForeign notes the source of a record of another log. Consecutive entries with the same source share one item.
func (b *Builder) noteForeign(i int32, env *Envelope) {
	t := b.t
	switch n := len(t.others); {
	case env.Source == nil:
		put(&t.foreign, i, env.Record)
	case n > 0 && t.others[n-1].to == i && t.others[n-1].source == env.Source:
		t.others[n-1].to = i + 1
	default:
		t.others = append(t.others, other{i, i + 1, env.Source})
	}
}

func (b *Builder) problemAt(i int32, kind ProblemKind, message, advice string) {
	n := &b.t.nodes[i]
	b.Problem(Problem{Line: int(n.line), Offset: n.offset, Kind: kind, Message: message, Advice: advice})
}

// put sets an entry of a map and makes the map if it is nil: most logs need none of these maps.
func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}
