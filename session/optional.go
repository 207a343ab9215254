package session

import (
	"iter"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// Navigator is an EntryCodec that chooses leaf and path itself, for formats in which they do not follow from parents and
// file order alone. Only the codec of a tree is asked, so a decoder may give its Builder a codec that holds what
// it learned about this one log. Positions are those of Tree.At. Leaf and path are only known for a log that
// was read from its beginning.
type Navigator interface {
	// Leaf gives the position of the leaf, -1 for the place before the first entry. leaf is the leaf by the general
	// rules. Builder.Finish calls Leaf when entries were added.
	Leaf(t *Tree, leaf int) int
	// Path gives the positions on the path to an entry, the root first, none twice.
	Path(t *Tree, to int) []int
}

// Replayer is an EntryCodec that turns a path into messages itself, for formats in which messages are folded, merged,
// reordered or made up. It then handles compactions and context edits, and EntryCodec.Messages is not used.
type Replayer interface {
	// Replay gives the messages that the model sees at the end of the path, each with the entry that it comes from, or
	// the zero Entry. It may be called more than once and stops at the first error. In formats that cut texts, it reads the
	// records with Path.Record.
	Replay(p Path) iter.Seq2[ContextMessage, error]
}

// Omitter is a Replayer of an agent whose program loses or confuses some of what the log has for the model. The context
// is what the program sends, and Problems say what is missing from it.
type Omitter interface {
	// Omits gives what the model does not see at the end of the path although a reader of the log would expect it, in the
	// order of the log. Kinds are ProblemUnseen and ProblemRefused.
	Omits(p Path) []Problem
}

// Spender is an EntryCodec of logs that record the usage of an answer more than once, or in another entry. The usage in
// EntryCodec.Body is then not summed up.
type Spender interface {
	// Spent calls take with each amount that an entry records. It is called for every entry of a log, in order, so it must be
	// cheap for entries that record none.
	Spent(e Entry, raw []byte, take func(Spending))
}

// Noter is an EntryCodec of logs with many entries that the agent's program wrote for its own use, such as counts and
// states. A drawing of the tree leaves them out unless all entries are asked for.
type Noter interface {
	// IsNote reports whether an entry is such a note. Kind and type alone decide: the record is not read.
	IsNote(e Entry) bool
}

// Echoer is an EntryCodec of logs that record the same text twice: as the model sees it and as the user interface shows it.
type Echoer interface {
	// Echoes reports whether an entry repeats the text of another one. Such an entry is not searched.
	Echoes(e Entry, raw []byte) bool
}

// Copier is an EntryCodec of an agent that forks a session by copying its records and may not record that it did.
type Copier interface {
	// CopyID gives the id that a message keeps in every copy and that no other message has; "" if there is none.
	CopyID(e Entry, raw []byte) string
}

// Spending is an amount that was used.
type Spending struct {
	// Of names what used the amount, such as an answer. Amounts with the same name are about the same thing, and the largest counts.
	// All but the totals of a log stand near each other.
	Of string
	// Total: the amount is the sum of the session so far, not that of one answer.
	Total bool
	// Provider and Model name the model; both are "" for the model of the last session.ModelChange.
	Provider, Model string
	Usage           Usage
}

// Skimmer is an EntryCodec that reads entries for a caller that keeps nothing of them. An index needs the parts and the usage
// of every entry: reading both at once halves the work, and texts that are dropped at once need no memory of their own.
type Skimmer interface {
	// Skim gives what Parts gives and, for an answer, its model and usage as in Body. Texts may point into raw: they are valid until
	// s is reset or raw changes. The caller has reset s.
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
	clear(s.Parts) // otherwise they would keep their texts alive
	s.Parts = s.Parts[:0]
	s.Provider, s.Model, s.Usage = "", "", Usage{}
	s.room.Reset()
}

// Trim does the same as Reset and also frees the memory of very long texts.
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

// Plain returns a piece of raw, or of a decoded text, as a string.
func (s *Skim) Plain(b []byte) string {
	if s == nil {
		return string(b)
	}
	return s.room.String(b)
}

// Inside is like Text but gives bytes, which must not be changed: it is for JSON inside a string.
func (s *Skim) Inside(value []byte) (inside []byte, ok bool) {
	if s == nil {
		return (*rawjson.Room)(nil).Inside(value)
	}
	return s.room.Inside(value)
}
