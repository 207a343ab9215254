package transcript

import (
	"strings"
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

// String returns a word for the kind, which is also used as a CSS class.
func (k Kind) String() string {
	return [...]string{"message", "compaction", "summary", "note", "opaque"}[k]
}

// Block is one unit of a transcript: a message with all its pieces, or a line between messages. Its texts come from the session and are not
// cleaned.
type Block struct {
	Kind Kind
	// ID is the first entry of the block, and Parent that entry's parent.
	ID, Parent session.EntryID
	// Place identifies the block in a Request. It is the ID, unless that would select another entry with the same id. It is "" for a
	// message that the agent makes up.
	Place session.EntryID
	// Also are the other entries that the block shows: further records of the same answer, and results of its calls. A link to any of them
	// leads to this block.
	Also []session.EntryID
	// Role is the role of the speaker. Speaker is the same as a word; for a role that only one agent has, it is the agent's own word.
	Role    session.Role
	Speaker string
	// Native is the agent's name for the type of the entry.
	Native string
	// Prompt means that a person typed it. Meta means that the agent wrote it in the name of the user or the model.
	Prompt, Meta bool
	// Hidden means that the agent does not show it to people.
	Hidden bool
	// Final means that it is the last answer before the next prompt or the end.
	Final bool
	// Time is zero if the log has none.
	Time time.Time
	// Model is the model of an answer. Usage is the usage of the answer; zero if none is recorded.
	Model string
	Usage session.Usage
	// Stop says how an answer ended, if it did not end normally. Error says what went wrong.
	Stop, Error string
	// Label is the name that a person gave the entry.
	Label string
	// Line is the text of a note.
	Line string
	// Pieces are the content, in order.
	Pieces []Piece
	// Fork is the fork before this block, or nil.
	Fork *Fork
	// OnlyNote means that the entry is a note that the agent's program writes for itself. Only Request.All shows it.
	OnlyNote bool
	// Unseen means that the model does not see it at the leaf, because of a compaction or a reset.
	Unseen bool
	// Estimate is the estimated number of tokens of a message; only in mode Model.
	Estimate int64
	// Problems are the problems of the records that the block shows.
	Problems []session.Problem
}

// Piece is a part of a block: Text, Thinking, Image, Tools, Compacted or Raw.
type Piece interface{ piece() }

// Text is prose in Markdown.
type Text struct {
	Text string
	// Cut is the number of bytes omitted at the end, and CutLines that of the line breaks in them; Entry is the entry that has the whole text.
	Cut, CutLines int
	Entry         session.EntryID
}

// Lines counts the lines of the whole text, without empty ones at its ends.
func (t Text) Lines() int {
	text := strings.TrimLeft(t.Text, "\n")
	if t.Cut == 0 {
		text = strings.TrimRight(text, "\n")
	}
	if text == "" {
		return 0
	}
	return 1 + strings.Count(text, "\n") + t.CutLines
}

// Thinking is the reasoning of the model.
type Thinking struct {
	Text string
	// Redacted means that the reasoning itself is encrypted.
	Redacted bool
	Cut      int
	Entry    session.EntryID
}

// Image is a picture.
type Image struct {
	MIME string
	// Data is the value in the log: base64, a data URL, the address of a picture, or a reference to a blob. Blob is set for a reference;
	// URL is the address, or "". An address in a session should never be loaded.
	Data string
	Blob bool
	URL  string
	// Size is the size of the picture in bytes; -1 if it is not known or the blob is missing.
	Size int64
	// Entry has the picture. Index is its position among the pictures of that entry, including those in tool results.
	Entry session.EntryID
	Index int
}

// Tools are consecutive calls of one answer.
type Tools struct{ Calls []Tool }

// Compacted describes a compaction, or the summary of a branch that was left.
type Compacted struct {
	// Before is the recorded number of tokens before the compaction, or 0. After is an estimate of what the model sees after it; it is 0
	// for the summary of a branch.
	Before, After int64
	Summary       Text
	// FirstKept is the first entry before the compaction that the model still sees, or "". For the summary of a branch, From is the entry
	// where that branch was left.
	FirstKept, From session.EntryID
}

// Raw is a piece of an unknown type, unchanged.
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
	// Title says on one line what the call is about, such as its command or its path.
	Title string
	// Input is the JSON of the arguments, or nil for a result whose call is not known. InputCut is the number of bytes omitted.
	Input    session.Raw
	InputCut int
	// Call and Result are the entries of the call and of the result, or "".
	Call, Result session.EntryID
	// Output consists of Text, Image and Raw, and rarely Thinking.
	Output []Piece
	// Answered means that there is a result; Failed means that the tool reported a failure.
	Answered, Failed bool
	// Took is the time from the call to the result, or 0 if it is not known.
	Took time.Duration
	// Edits are the changes of files that the call requests.
	Edits []Edit
	// Child is the sub-agent that the call started.
	Child *Child
}

// Edit is a change of one file, as a call requested it.
type Edit struct {
	Path string
	// From is the old path if the file was renamed.
	From         string
	Hunks        []diff.Hunk
	Added        int
	Removed      int
	New, Deleted bool
	// Partial says what is not known about the change; "" means that everything is.
	Partial string
}

// Child is the session of a sub-agent, or a conversation beside the main one in the same log.
type Child struct {
	// Session is the sub-agent's own session, or "" for entries of the same log, which begin at First and end at Tip.
	Session    session.ID
	First, Tip session.EntryID
	Path       string
	Title      string
	Entries    int
	Tokens     int64
	Cost       float64
}

// Fork is an entry after which the conversation continues in several ways. Numbers and labels do not depend on where the session is shown
// from.
type Fork struct {
	// At is the entry before the fork, or "" for a fork before the first entry.
	At session.EntryID
	// Count is the number of branches. Current is the number, from 1, of the branch that is shown, or 0 if none is.
	Count, Current int
	// Branches are those nearest to the current one, in order. Of a fork with many branches, the others are omitted.
	Branches []Branch
}

// Branch is one continuation at a fork.
type Branch struct {
	// Number is its number among the branches, from 1.
	Number int
	// First is its first entry. Tip is its end: the leaf of the session if the branch contains it, otherwise the newest end.
	First, Tip session.EntryID
	// Entries counts all entries of the branch, including those after further forks.
	Entries int
	// Label is the first prompt or text on one line.
	Label string
}
