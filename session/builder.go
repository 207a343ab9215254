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
	// Made: the record has no id and the decoder made ID up. It must be unique and the same each time the log is read.
	Made bool
	// Parent is the parent's id; nil for a root. InOrder: the parent is the entry added before.
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
	// Target and Label are the content of KindLabel; Target that of KindLeaf (nil: before the first entry).
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
	// Message is the id of the message that the record is a piece of; nil where the record holds a whole message. Entries
	// with the same id form one message, also with other records between them: see Entry.FirstPiece. With Repeats it is ID.
	Message []byte
	// Foreign: the record is from another log that the decoder asked for. Span and Line are those in the other log. Source
	// reads it there and is a pointer; where Source is nil, the tree keeps Record without copying it.
	Foreign bool
	Source  Source
	// Repeats: ids may occur again. The later entry gets "<id>~2" and keeps its own id as NativeID; that is not a Problem.
	Repeats bool
}

// Builder makes a Tree from envelopes, in file order.
type Builder struct {
	t          *Tree
	arena      *strings.Builder
	unresolved map[int32]EntryID // parents that do not exist yet
	targets    []target
	expected   int64     // bytes of the log, 0 where they are not known
	checked    int       // number of targets that were checked
	missing    []missing // ids that entries name and the log does not have
	has        func(EntryID) bool
	duplicates bool
	sides      bool       // see SetSides
	forward    bool       // a parent stands after its child: only then can there be a cycle
	lastTypes  [16]uint16 // the last type of each length and first letter
	leafMoves  []leafMove
	moved      int                 // number of leafMoves that were replayed
	pending    bool                // new entries are not in a log yet
	finished   bool                // Finish was called
	owned      bool                // no context reads nodes and links; see own
	indexed    int                 // number of entries whose ids are in the table
	hashes     [indexAtOnce]uint64 // of those that are entered at once
	messages   messages
	hashed     struct { // the part of a hash that the id of the session gives; see hash
		id  ID
		sum uint64
	}
	repeats   map[string]int // id → the last number that repeat gave it
	repeated  func(at, first int)
	unsettled bool // there are entries that settle has not seen
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

// leafMove is a durable leaf: after the entry at that index, the leaf is the target.
type leafMove struct {
	after  int32
	to     EntryID
	none   bool
	before int32 // the leaf before it, where the target did not exist when it was replayed
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

// Header gives the header that was set.
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
		key += int(name[0]) // $set and user, which alternate, are equally long
	}
	last := &b.lastTypes[key%len(b.lastTypes)]
	if int(*last) < len(t.types) && t.types[*last] == string(name) {
		return *last
	}
	// The conversion in the function makes no copy, unlike that of an argument.
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

// Add adds an entry after the others and moves the leaf to it, unless it is Aside.
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
	// Set in place: the processor stalls where it copies what it has just written.
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

// flags gives those of the entry's node.
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

// Pending says whether entries that are added from now on are not in a log yet. The tree keeps their records. Their spans
// and lines are those that they will have.
func (b *Builder) Pending(on bool) { b.pending = on }

// Written says that all pending entries are in the log now, at their spans.
func (b *Builder) Written() {
	b.pending = false
	b.t.pending = nil
}

// SetWhole sets the whole record of the entry at a position, of which the log has a part: see Entry.Whole. The tree keeps
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

// resolve finds a parent, nearly always the entry before. One that does not exist yet is resolved by Finish.
func (b *Builder) resolve(i int32, parent []byte) int32 {
	t := b.t
	if i > 0 && string(t.nodes[i-1].id) == string(parent) {
		return i - 1
	}
	// Or the last one of the conversation, with others aside after it. If one of them has the same id, Finish corrects it.
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

// noteForeign notes where the record of another log is. Such records come in rows.
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

// put sets an entry of a map that is made with its first entry: most logs need none of them.
func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}
