// Package transcript is a session as a person reads it: blocks with their pieces, calls with their results, forks, edits,
// and a drawing of the tree. It makes values; other packages make HTML, Markdown or text of them. Texts are those of the
// log and not cleaned: what shows them must treat them as hostile.
package transcript

import (
	"context"

	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// Mode says what of a path is shown.
type Mode uint8

// The modes.
const (
	// Everything is all that was said and done.
	Everything Mode = iota
	// Focused is prompts and final answers, without their tool calls and thinking.
	Focused
	// Model is what the model sees at the leaf.
	Model
)

// Request asks for a stretch of a path. At most one of Around, After and Before is set; with none it is the end of the path.
type Request struct {
	// Leaf ends the path; nil for the leaf of the session. The id "" is the place before the first entry.
	Leaf *session.EntryID
	// Around puts an entry into the middle. After begins after the block of an entry, Before ends before it.
	Around, After, Before session.EntryID
	// First begins at the start of the path.
	First bool
	// Limit bounds the blocks; 0 is 200.
	Limit int
	Mode  Mode
	// All also shows notes, labels and what the agent hides from people.
	All bool
	// MaxText bounds each text, in bytes; 0 is 64 KB. Negative is no bound.
	MaxText int
}

// Window is a stretch of a path.
type Window struct {
	Blocks []Block
	// Leaf ends the path.
	Leaf session.EntryID
	// Earlier and Later: there are blocks before and after. First and Last are ids of the first and last block, for
	// Request.Before and Request.After.
	Earlier, Later bool
	First, Last    session.EntryID
	// Total is the number of entries on the path. Position is the number of them before the first block.
	Total, Position int
	// Onward is how the conversation goes on after the end of the path; nil where it does not, or where Later is true.
	Onward *Fork
	// Estimate guesses the tokens of all blocks; only in mode Model.
	Estimate int64
	// Problems are those of the records that were read. Those of the log are Tree.Problems.
	Problems []session.Problem
}

// Document is one session that is open for reading. Goroutines may use it at once, as long as none appends to the session.
type Document struct {
	s *store.Session
	k *Skeleton
}

// New gives the document of a session. k is the skeleton of its tree, nil to make one.
func New(s *store.Session, k *Skeleton) *Document {
	if k == nil {
		k = NewSkeleton(s.Tree())
	}
	return &Document{s: s, k: k}
}

// Skeleton gives the shape of the tree.
func (d *Document) Skeleton() *Skeleton { return d.k }

// Children tells of the sessions that sub-agents of this session have. The document uses them from then on.
func (d *Document) Children(list []Child) {}

// Window gives a stretch of a path as blocks. It reads only the entries that it shows, and the first texts of the branches at
// forks among them.
func (d *Document) Window(ctx context.Context, r Request) (*Window, error) {
	return &Window{}, nil
}

// Changes are all edits of files on the path to leaf (nil: the leaf of the session), one for each file, in the order of
// their first edit.
func (d *Document) Changes(ctx context.Context, leaf *session.EntryID) ([]FileChange, error) {
	return nil, nil
}

// FileChange is what happened to one file along a path.
type FileChange struct {
	// Edit is the sum of all edits. Where they cannot be added up, its hunks are those of each edit, one after the other, and
	// Partial says so.
	Edit
	// Edits counts the edits; Entries are the blocks that have them.
	Edits   int
	Entries []session.EntryID
}

// Skeleton is the shape of a tree: which entries are branches, and how large. It is made without reading a record, and may
// be shared by the documents of a log as long as the log stays the same.
type Skeleton struct {
	t *session.Tree
}

// NewSkeleton makes the skeleton of a tree.
func NewSkeleton(t *session.Tree) *Skeleton { return &Skeleton{t: t} }

// Branches counts the ends of the conversation.
func (k *Skeleton) Branches() int { return 0 }
