package session

import "fmt"

// Kind says what an entry is. It is neutral: each dialect maps its own type names to kinds.
type Kind uint8

// The kinds. The body of the same name says what each holds.
const (
	KindOpaque Kind = iota // an unknown type: kept, walked through, shown
	KindMessage
	KindThinkingLevelChange
	KindModelChange
	KindCompaction
	KindBranchSummary
	KindCustom
	KindCustomMessage
	KindLabel
	KindTTSRInjection
	KindSessionInit
	KindModeChange
	KindSessionInfo
	KindLeaf
	KindContextEdit
	KindTierChange
	KindToolSelection
	KindReset
	kindCount
)

var kindNames = [kindCount]string{
	"opaque", "message", "thinking_level_change", "model_change", "compaction", "branch_summary", "custom",
	"custom_message", "label", "ttsr_injection", "session_init", "mode_change", "session_info", "leaf", "context_edit",
	"service_tier_change", "mcp_tool_selection", "reset_boundary",
}

// String returns the name that most agents use for the kind.
func (k Kind) String() string {
	if k < kindCount {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// KindNamed returns the kind with that String, KindOpaque for an unknown name.
func KindNamed(name []byte) Kind {
	if string(name) == "message" { // nearly all entries are messages
		return KindMessage
	}
	return kindsByName[string(name)]
}

var kindsByName = func() map[string]Kind {
	kinds := map[string]Kind{}
	for k := KindMessage; k < kindCount; k++ {
		kinds[k.String()] = k
	}
	return kinds
}()

// KindOf returns the kind of an entry with that body.
func KindOf(b Body) Kind {
	if b == nil {
		return KindOpaque
	}
	return b.kind()
}

// Role says who speaks in a message.
type Role uint8

// The roles.
const (
	RoleNone Role = iota // not a message, or a message without a role
	RoleUser
	RoleAssistant
	RoleTool
	RoleSystem
	RoleOther // a role that only one agent has; the body has its name
)

var roleNames = [...]string{"", "user", "assistant", "tool", "system", "other"}

// String returns the name of the role, "" for none.
func (r Role) String() string { return roleNames[r] }

// Span is a range of bytes in a log.
type Span struct {
	Offset int64
	Length int64
}

// End is the offset after the span.
func (s Span) End() int64 { return s.Offset + s.Length }

// Source reads the bytes of spans from an opened log. It fails for a log that was truncated meanwhile. The bytes belong to
// the caller.
type Source interface {
	Bytes(s Span) ([]byte, error)
}

// Codec looks inside the entries and messages that a dialect decoded. The optional interfaces Skimmer, Navigator, Replayer,
// Omitter, Spender, Copier, Noter and Echoer are asserted on EntryCodec.
type Codec struct {
	EntryCodec
	MessageCodec
}

// EntryCodec looks inside entries.
type EntryCodec interface {
	// Body decodes the entry's content. raw is the entry's record.
	Body(e Entry, raw []byte) (Body, error)
	// Time gives when the entry was made.
	Time(raw []byte) Time
	// Parts gives what is inside the entry in neutral form.
	Parts(e Entry, raw []byte) ([]Part, error)
	// Messages gives what an entry contributes to a context, in the agent's own JSON: the exact bytes of its message member
	// if it has one, otherwise the message that the agent makes of a summary or a custom message.
	Messages(e Entry, raw []byte) ([][]byte, error)
	// Rules says how contexts of this dialect differ from those of others.
	Rules() Rules
}

// MessageCodec looks inside the messages of a context, as EntryCodec.Messages gives them. Two formats of one agent may
// share it: the same messages in other entries.
type MessageCodec interface {
	// LLM gives the message in the form that goes to a provider, with the agent's wrapper texts; nil if the
	// message is not sent.
	LLM(message []byte) ([]byte, error)
	// ResolveBlobs replaces the references to blobs in a message by their content. It gives the message itself if it has
	// none. A reference that get does not find stays.
	ResolveBlobs(message []byte, get func(ref string) ([]byte, error)) ([]byte, error)
	// Edit gives the message with its content replaced, for KindContextEdit.
	Edit(message, content []byte) ([]byte, error)
	// Role says who speaks in a message.
	Role(message []byte) Role
	// ToolCalls gives the ids of the tool calls in a message, ToolResults the ids of the calls that it answers. Failed
	// says whether the message is a turn that ended in an error or was aborted.
	ToolCalls(message []byte) []string
	ToolResults(message []byte) []string
	Failed(message []byte) bool
	// Strip removes the tool calls whose ids drop accepts, or from a message of results the results with these ids, together
	// with what is only valid beside them. It gives nil if nothing is left worth sending.
	Strip(message []byte, drop func(id string) bool) ([]byte, error)
}

// Entry is one entry of a tree: its envelope and access to its content.
type Entry struct {
	ID EntryID
	// Parent is the id of the parent, "" for a root. It may not exist.
	Parent EntryID
	Kind   Kind
	Role   Role
	// Type is the dialect's name of the kind.
	Type string
	// Index is the position among the tree's entries, in file order.
	Index int
	// Span and Line say where the record is in its log. An entry that is not durable yet has Line 0.
	Span Span
	Line int
	// Migrated is set where the log is of an old version: Raw is not what would be written today.
	Migrated bool
	// NativeID is the id in the log. It differs from ID where an id is repeated, and is "" where the record has none.
	NativeID EntryID

	tree *Tree
}

// Tree returns the tree that the entry is in, nil if it is in none.
func (e Entry) Tree() *Tree { return e.tree }

// Durable reports whether the entry is in its log. Otherwise it is lost when the process ends.
func (e Entry) Durable() bool {
	if e.tree == nil {
		return false
	}
	_, pending := e.tree.pending[int32(e.Index)]
	return !pending
}

// Foreign reports whether the record is from another log, such as the one that this log was forked from. Span and Line are
// then those in the other log.
func (e Entry) Foreign() bool {
	if e.tree == nil {
		return false
	}
	_, kept := e.tree.foreign[int32(e.Index)]
	_, elsewhere := e.tree.sourceOf(int32(e.Index))
	return kept || elsewhere
}

// Aside reports whether the entry does not move the leaf, because it belongs to a side conversation or to none.
func (e Entry) Aside() bool { return e.tree != nil && e.tree.nodes[e.Index].flags&aside != 0 }

// FirstPiece returns the position of the first entry of the message that this entry is a piece of. It is Index where the
// message has one record, and -1 where its first entry stands before the place where reading began (Builder.StartAfter).
func (e Entry) FirstPiece() int {
	if e.tree == nil {
		return e.Index
	}
	return e.tree.firstPiece(e.Index)
}

// Raw returns the entry's record as it is in the log, byte for byte.
func (e Entry) Raw() ([]byte, error) {
	if e.tree == nil {
		return nil, fmt.Errorf("entry %s belongs to no tree", e.ID)
	}
	return e.tree.raw(e.Index)
}

// Whole returns the entry's record as it was appended, where the log has only a part of it: agents cut very long texts. ok is false
// for an entry that is complete in the log, and for one that was appended before the session was opened.
func (e Entry) Whole() (record []byte, ok bool) {
	if e.tree == nil {
		return nil, false
	}
	record, ok = e.tree.whole[int32(e.Index)]
	return record, ok
}

// seen returns the record from which the content is read.
func (e Entry) seen() ([]byte, error) {
	if e.tree == nil {
		return e.Raw()
	}
	return e.tree.seen(e.Index)
}

// Body decodes the content of the entry.
func (e Entry) Body() (Body, error) {
	raw, err := e.seen()
	if err != nil {
		return nil, err
	}
	return e.tree.codec.Body(e, raw)
}

// Time returns when the entry was made.
func (e Entry) Time() (Time, error) {
	raw, err := e.seen()
	if err != nil {
		return Time{}, err
	}
	return e.tree.codec.Time(raw), nil
}

// Parts returns what is inside the entry in neutral form, in order.
func (e Entry) Parts() ([]Part, error) {
	raw, err := e.seen()
	if err != nil {
		return nil, err
	}
	return e.tree.codec.Parts(e, raw)
}

// IsMessage reports whether the entry counts as a message. In formats that have only messages, a compaction is one of them, with
// a role. A message that is spread over several records is counted at its first record.
func (e Entry) IsMessage() bool {
	return (e.Kind == KindMessage || e.Kind == KindCompaction && e.Role != RoleNone) && e.FirstPiece() == e.Index
}

// FirstKept returns the first entry that a compaction of version 1 keeps; that version names it by position. ok is false for all
// other entries.
func (e Entry) FirstKept() (id EntryID, ok bool) {
	if e.tree == nil {
		return "", false
	}
	i, ok := e.tree.keptByIndex[int32(e.Index)]
	if !ok || i < 0 {
		return "", ok
	}
	return e.tree.nodes[i].id, true
}
