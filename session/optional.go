package session

import (
	"iter"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// Navigator is an EntryCodec that chooses leaf and path itself, for formats in which they do not follow from parents and
// file order alone. Only the codec of a tree is asked, so a decoder may give its Builder a codec that holds what
// it learned about this one log. Positions are those of Tree.At. Leaf and path are known only of a log that
// was read from its beginning.
type Navigator interface {
	// Leaf gives the position of the leaf, -1 for the place before the first entry. leaf is the one that the model
	// would choose. It is asked by Builder.Finish when entries were added.
	Leaf(t *Tree, leaf int) int
	// Path gives the positions on the path to an entry, the root first, none twice.
	Path(t *Tree, to int) []int
}

// Replayer is an EntryCodec that turns a path into messages itself, for formats in which messages are folded, merged,
// reordered or made up. Compactions, context edits and EntryCodec.Messages are then its own concern.
type Replayer interface {
	// Replay gives the messages that the model sees at the end of the path, each with the entry that it comes from, or
	// the zero Entry. It may be called more than once and stops at the first error. Where texts can be cut, it takes the
	// records from Path.Record.
	Replay(p Path) iter.Seq2[ContextMessage, error]
}

// Omitter is a Replayer whose program does not show the model everything that the log has for it: it loses or confuses
// some of it. The context is the program's all the same, and a Problem says what is missing.
type Omitter interface {
	// Omits gives what the model does not see at the end of the path although a reader of the log would expect it, in the
	// order of the log. Kinds are ProblemUnseen and ProblemRefused.
	Omits(p Path) []Problem
}

// Spender is an EntryCodec of logs that tell more than once what an answer used, or tell it beside the answer. What
// EntryCodec.Body says of an answer's usage is then not summed up.
type Spender interface {
	// Spent gives the amounts that an entry tells of. It is called for every entry of a log, in order, so it must be cheap
	// for those that tell of none.
	Spent(e Entry, raw []byte, take func(Spending))
}

// Noter is an EntryCodec of logs with many entries that are notes of the agent's program for itself, such as counts and
// states. A drawing of the tree leaves them out unless it is asked for all.
type Noter interface {
	// IsNote decides by kind and type alone: the record is not read.
	IsNote(e Entry) bool
}

// Echoer is an EntryCodec of logs that say the same more than once: in the model's view and in that of the user interface.
type Echoer interface {
	// Echoes reports whether an entry repeats the text of another one. It is not searched.
	Echoes(e Entry, raw []byte) bool
}

// Copier is an EntryCodec of an agent that forks a session by copying its records and need not say so.
type Copier interface {
	// CopyID gives the id that a message keeps in every copy, and that no other message has; "" for none.
	CopyID(e Entry, raw []byte) string
}

// Spending is an amount that was used.
type Spending struct {
	// Of names what used it, such as an answer. Amounts with the same name are about the same thing, and the largest counts.
	// All but the totals of a log stand near each other.
	Of string
	// Total: it is the sum of the session so far, and not of one answer.
	Total bool
	// Provider and Model name the model; both are "" for the one of the last session.ModelChange.
	Provider, Model string
	Usage           Usage
}

// Skimmer is an EntryCodec that reads entries for a caller that keeps nothing of them. An index needs the parts and the usage
// of every entry: reading both at once halves the work, and texts that are dropped at once need no memory of their own.
type Skimmer interface {
	// Skim gives what Parts gives and, for an answer, what Body says of it. Texts may point into raw: they are valid until s
	// is reset or raw changes. The caller has reset s.
	Skim(e Entry, raw []byte, s *Skim) error
}

// Skim is the result of a Skimmer, in memory that is reused. The zero value is ready. Methods of a nil Skim allocate.
type Skim struct {
	Parts []Part
	// Provider, Model and Usage are those of an answer; Usage is zero where it has none.
	Provider, Model string
	Usage           Usage

	room rawjson.Room
}

// Reset makes s ready for the next entry.
func (s *Skim) Reset() {
	clear(s.Parts) // they would keep their texts alive
	s.Parts = s.Parts[:0]
	s.Provider, s.Model, s.Usage = "", "", Usage{}
	s.room.Reset()
}

// Trim is Reset that also lets go of the memory of very long texts.
func (s *Skim) Trim() {
	s.Reset()
	s.room.Trim()
}

// Text decodes a JSON string; ok is false for any other value.
func (s *Skim) Text(value []byte) (text string, ok bool) {
	if s == nil {
		return rawjson.Unquote(value)
	}
	return s.room.Unquote(value)
}

// Plain gives a piece of raw, or of a decoded text, as a string.
func (s *Skim) Plain(b []byte) string {
	if s == nil {
		return string(b)
	}
	return s.room.String(b)
}

// Inside is Text as bytes, which must not be changed: for JSON in a string.
func (s *Skim) Inside(value []byte) (inside []byte, ok bool) {
	if s == nil {
		return (*rawjson.Room)(nil).Inside(value)
	}
	return s.room.Inside(value)
}
