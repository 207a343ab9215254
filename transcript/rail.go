package transcript

import (
	"context"

	"github.com/treeline-dev/treeline/session"
)

// RailRequest asks for a drawing of the tree.
type RailRequest struct {
	// Leaf ends the active path; nil for the leaf of the session.
	Leaf *session.EntryID
	// Here is the entry that the reader looks at; "" for none.
	Here session.EntryID
	// MaxRows bounds the rows; 0 is 300.
	MaxRows int
}

// RowKind says what a row of a rail stands for.
type RowKind uint8

// The kinds of rows.
const (
	RowEntry RowKind = iota
	// RowRun stands for entries that follow each other without a fork that is drawn.
	RowRun
)

// Row is a row of a rail, drawn below the rows before it.
type Row struct {
	Kind RowKind
	// Entry is the one that the row stands for, the first of a run. Link is the leaf with which a page shows it.
	Entry, Link session.EntryID
	// Above is the row that this one hangs on, -1 for none. An edge leads from there.
	Above int
	// Column is how far to the right the row is, from 0. A row in another column than the one above begins a branch.
	Column int
	// Text is the entry in a few words; for the first entry of a branch it is the label of the branch.
	Text string
	// Count is the number of entries of a run. Branches counts those that leave from it and are not drawn.
	Count, Branches int
	// Label is the name that a person gave the entry.
	Label string
	// Block says what kind of block the entry is; Role who speaks.
	Block Kind
	Role  session.Role
	// Active: on the path. Leaf: it is the leaf of the session. Here: it is RailRequest.Here.
	Active, Leaf, Here bool
	// Fork: several branches begin after it. Number is that of the branch that begins with it, 0 for none.
	Fork   bool
	Number int
}

// Rail is a drawing of a tree.
type Rail struct {
	Rows []Row
	// Columns is the number of columns that are used.
	Columns int
	// Branches counts the ends of the conversation, Entries what is said in all of it.
	Branches, Entries int
}

// Rail draws the tree with at most MaxRows rows, however large the tree is. It reads the entries that it draws.
func (d *Document) Rail(ctx context.Context, r RailRequest) (*Rail, error) {
	return &Rail{}, nil
}
