package dialect

import (
	"iter"

	"github.com/treeline-dev/treeline/session"
)

// Framer is a Writer whose records depend on the end of the log, or whose agent writes other records around them. Such records can
// be made only at the moment of writing.
type Framer interface {
	// Frame gives the records to be written for new entries at the end of a log, one Framed for each entry of the batch, in
	// order. t is the log as it was last read. The caller writes all of them in one piece, and only if the log has not changed
	// since; otherwise it reads what is new and asks again. Every record becomes one entry.
	// An error is the last value, and refuses the whole batch. A batch may be larger than memory: Frame keeps
	// no more of it than a turn.
	Frame(t *session.Tree, batch iter.Seq[NewRecord]) iter.Seq2[Framed, error]
}

// NewRecord is an entry that is about to be written, with the record that Writer.Record and Writer.Persist made of it.
type NewRecord struct {
	NewEntry
	Record []byte
	// Moved: the leaf was moved to the parent on purpose; the parent is an entry of the tree or "". Otherwise the entry
	// follows the end of the log.
	Moved bool
}

// Framed holds the records that are written for one entry. Record is the entry itself.
type Framed struct {
	Before [][]byte
	Record []byte
	After  [][]byte
}

// Records returns all records in order.
func (f Framed) Records() [][]byte {
	list := make([][]byte, 0, len(f.Before)+1+len(f.After))
	list = append(list, f.Before...)
	list = append(list, f.Record)
	return append(list, f.After...)
}

// Size is the number of bytes that the records take in a log, with their newlines.
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
// conversation, so that some earlier entries can still become the leaf.
type Reacher interface {
	// Reach returns an error that says why nothing can be appended after an entry; nil if something can. "" is the place before the
	// first entry. The error wraps ErrUnsupported.
	Reach(t *session.Tree, id session.EntryID) error
}
