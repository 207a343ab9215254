package transcript

import (
	"time"

	"github.com/treeline-dev/treeline/internal/diff"
	"github.com/treeline-dev/treeline/session"
)

// Kind says what a block is.
type Kind uint8

// The kinds of blocks.
const (
	// Message is what the user, the model, a tool, or an extension said.
	Message Kind = iota
	// Compaction is a divider: from here on the model sees a summary of what came before.
	Compaction
	// Summary tells what happened on a branch that was left.
	Summary
	// Note is a change of state, such as another model or a new name, in one line.
	Note
	// Opaque is an entry of an unknown type.
	Opaque
)

// String is a word for the kind, which is also used as a CSS class.
func (k Kind) String() string {
	return [...]string{"message", "compaction", "summary", "note", "opaque"}[k]
}

// Block is one thing that a person reads: a message with all its pieces, or a line between messages. Its texts come from the
// session and are not cleaned.
type Block struct {
	Kind Kind
	// ID is the first entry of the block, Parent that entry's parent.
	ID, Parent session.EntryID
	// Place names the block in a Request. It is the ID, unless another entry with that id would be meant; "" for a message that the
	// agent makes up.
	Place session.EntryID
	// Also are the other entries that the block shows: further records of one answer, and results of its calls. A link to any
	// of them leads here.
	Also []session.EntryID
	// Role says who speaks; Speaker is the same in a word, in the agent's own spelling where only one agent has the role.
	Role    session.Role
	Speaker string
	// Native is the agent's name for the type of the entry.
	Native string
	// Prompt: a person typed it. Meta: the agent said it in the name of the user or the model.
	Prompt, Meta bool
	// Hidden: the agent does not show it to people.
	Hidden bool
	// Final: the last answer before the next prompt, or before the end.
	Final bool
	// Time is zero where the log has none.
	Time time.Time
	// Model is the one that answered. Usage is what the answer took; zero where nothing is recorded.
	Model string
	Usage session.Usage
	// Stop says how an answer ended if not normally; Error what went wrong.
	Stop, Error string
	// Label is the name that a person gave the entry.
	Label string
	// Line is a note in one line.
	Line string
	// Pieces are the content, in order.
	Pieces []Piece
	// Fork is the fork before this block; nil where there is none.
	Fork *Fork
	// OnlyNote: the entry is a note of the agent's program for itself. Only Request.All shows it.
	OnlyNote bool
	// Unseen: the model does not see it at the leaf, because of a compaction or a reset.
	Unseen bool
	// Estimate guesses the tokens of a message; only in mode Model.
	Estimate int64
	// Problems are those of the records that the block shows.
	Problems []session.Problem
}

// Piece is a part of a block: Text, Thinking, Image, Tools, Compacted or Raw.
type Piece interface{ piece() }

// Text is prose in Markdown.
type Text struct {
	Text string
	// Cut is the number of bytes that are left out at the end; Entry is the one that has all of it.
	Cut   int
	Entry session.EntryID
}

// Thinking is the reasoning of the model.
type Thinking struct {
	Text string
	// Redacted: the reasoning itself is encrypted.
	Redacted bool
	Cut      int
	Entry    session.EntryID
}

// Image is a picture.
type Image struct {
	MIME string
	// Data is what the log has: base64, a data URL, the address of a picture, or a reference to a blob. Blob is set for a
	// reference; URL is the address, "" for none. Nothing should be loaded from an address that a session names.
	Data string
	Blob bool
	URL  string
	// Size is that of the picture in bytes, -1 where it is not known or the blob is missing.
	Size int64
	// Entry has the picture, and Index is its position among the pictures of that entry, results of tools included.
	Entry session.EntryID
	Index int
}

// Tools are calls that follow each other in one answer.
type Tools struct{ Calls []Tool }

// Compacted says what a compaction did, or is the summary of a branch that was left.
type Compacted struct {
	// Before is the recorded number of tokens, 0 where it is not recorded. After is an estimate of what the model sees
	// after the compaction, 0 for the summary of a branch.
	Before, After int64
	Summary       Text
	// FirstKept is the first entry before the compaction that the model still sees, "" for none. For the summary of a branch,
	// From is the entry where that branch was left.
	FirstKept, From session.EntryID
}

// Raw is a piece of an unknown type, as the log has it.
type Raw struct {
	Type string
	JSON session.Raw
	Cut  int
}

func (Text) piece()      {}
func (Thinking) piece()  {}
func (Image) piece()     {}
func (Tools) piece()     {}
func (Compacted) piece() {}
func (Raw) piece()       {}

// Tool is a call and its result.
type Tool struct {
	CallID, Name string
	// Title says in one line what the call is about, such as its command or its path.
	Title string
	// Input is the JSON of the arguments; nil for a result whose call is not known. InputCut counts bytes left out.
	Input    session.Raw
	InputCut int
	// Call and Result are the entries that have them; "" where there is none.
	Call, Result session.EntryID
	// Output are Text, Image and Raw, rarely Thinking.
	Output []Piece
	// Answered: there is a result. Failed: the tool says that it failed.
	Answered, Failed bool
	// Took is the time from the call to the result, 0 where it is not known.
	Took time.Duration
	// Edits are the changes of files that the call asks for.
	Edits []Edit
	// Child is the sub-agent that the call began.
	Child *Child
}

// Edit is a change of one file, as a call asked for it.
type Edit struct {
	Path string
	// From is the path before, where the file was renamed.
	From         string
	Hunks        []diff.Hunk
	Added        int
	Removed      int
	New, Deleted bool
	// Partial says what is not known of the change; "" where all is.
	Partial string
}

// Child is the session of a sub-agent, or a conversation beside the main one in the same log.
type Child struct {
	// Session is the session of its own; "" for entries of the same log, which begin at First and end at Tip.
	Session    session.ID
	First, Tip session.EntryID
	Path       string
	Title      string
	Entries    int
	Tokens     int64
	Cost       float64
}

// Fork is a place where the conversation goes on in several ways. Its numbers and labels are the same wherever the session
// is shown.
type Fork struct {
	// At is the entry before the fork, "" for a fork before the first entry.
	At session.EntryID
	// Count is the number of branches. Current is the number of the one that is shown, from 1; 0 where none is.
	Count, Current int
	// Branches are those nearest to the current one, in order. A fork of many branches has more than these.
	Branches []Branch
}

// Branch is one way in which a fork goes on.
type Branch struct {
	// Number is its place among the branches, from 1.
	Number int
	// First is its first entry. Tip is where it leads: the leaf of the session if that is in it, otherwise its newest end.
	First, Tip session.EntryID
	// Entries counts all below the fork, further forks included.
	Entries int
	// Label is the first prompt or text, in one line.
	Label string
}
