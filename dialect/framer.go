package dialect

import (
	"iter"

	"github.com/treeline-dev/treeline/session"
)

// Framer is a Writer whose records depend on the end of the log, or whose agent writes others around them: such records can
// be made only at the moment of writing.
type Framer interface {
	// Frame gives the records to be written for new entries at the end of a log, one Framed for each entry of the batch, in
	// order. t is the log as it was last read. The caller writes all of them in one piece, and only if the log is still that
	// one; otherwise it reads what is new and asks again. Every record becomes one entry.
	// An error is the last that it gives, and refuses the whole batch. A batch may be larger than the memory: Frame keeps
	// no more of it than a turn.
	Frame(t *session.Tree, batch iter.Seq[NewRecord]) iter.Seq2[Framed, error]
}

// NewRecord is an entry that is about to be written and the record that Writer.Record and Writer.Persist made of it.
type NewRecord struct {
	NewEntry
	Record []byte
	// Moved: the leaf was moved to the parent on purpose, which is an entry of the tree or "". Otherwise the entry follows
	// what is there.
	Moved bool
}

// Framed are the records that are written for one entry. The entry is that of Record.
type Framed struct {
	Before [][]byte
	Record []byte
	After  [][]byte
}

// Records gives all of them in order.
func (f Framed) Records() [][]byte {
	list := make([][]byte, 0, len(f.Before)+1+len(f.After))
	list = append(list, f.Before...)
	list = append(list, f.Record)
	return append(list, f.After...)
}

// Size is the number of bytes that they take in a log, with their newlines.
func (f Framed) Size() int64 {
	n := int64(len(f.Record)) + 1
	for _, list := range [...][][]byte{f.Before, f.After} {
		for _, r := range list {
			n += int64(len(r)) + 1
		}
	}
	return n
}

// Reacher is a Writer of a format without branches in which a record can take the last part of a log out of the
// conversation, so that some entries can still become the leaf.
type Reacher interface {
	// Reach says why nothing can be appended after an entry; nil where something can. "" is the place before the first entry.
	// The error wraps ErrUnsupported.
	Reach(t *session.Tree, id session.EntryID) error
}
