package dialect

import "github.com/treeline-dev/treeline/session"

// Completer is a Decoder of a log whose next records depend on what it has already: they are made at the moment of writing.
type Completer interface {
	// Complete gives the records to be written for new entries after what was decoded so far, one Framed for each entry of the
	// batch. The caller writes all of them in one piece, and only if the log is still the one that was decoded; otherwise it
	// reads what is new and asks again. Each of the records becomes at most one entry. An error refuses the whole batch.
	Complete(batch []NewRecord) ([]Framed, error)
}

// Plain gives the records of a batch as they are.
func Plain(batch []NewRecord) []Framed {
	out := make([]Framed, len(batch))
	for i, n := range batch {
		out[i].Record = n.Record
	}
	return out
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

// AppendTo appends all of them in order to a list.
func (f Framed) AppendTo(list [][]byte) [][]byte {
	return append(append(append(list, f.Before...), f.Record), f.After...)
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
