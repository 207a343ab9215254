package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"maps"
	"sync"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// Agents limit what they store of an entry: they cut very long strings and drop what only a running turn needs. That is true of the record
// in the log. The session that appended the entry shows it whole until it is closed, as the agents' programs do; afterwards the strings
// come back from the blobs that hold them.

// heldKey identifies a record of which the log has only a part: its entry, and a hash of the part.
type heldKey struct {
	id  session.EntryID
	sum [sha256.Size]byte
}

// held maps such entries to their whole records. The tree has them by position; these outlive a tree that is read again.
type held map[heldKey][]byte

// put remembers the whole record of an entry of which the log has less.
func (h *held) put(id session.EntryID, stored, record []byte) {
	if record == nil {
		return
	}
	if *h == nil {
		*h = held{}
	}
	(*h)[heldKey{id, sha256.Sum256(stored)}] = record
}

// showWhole hands the tree the whole records of entries of which the log has only a part. It drops those of entries that are gone or
// changed.
func (s *Session) showWhole() {
	w := s.w
	maps.DeleteFunc(w.held, func(key heldKey, record []byte) bool {
		e, ok := s.tree.Lookup(key.id)
		if !ok {
			return true
		}
		stored, err := e.Raw()
		if err != nil || sha256.Sum256(stored) != key.sum {
			return true
		}
		w.builder.SetWhole(e.Index, record)
		return false
	})
}

// hold keeps the whole record of an entry that was just added to the tree.
func (s *Session) hold(id session.EntryID, p *proposal) {
	if p.whole == nil {
		return
	}
	if e, ok := s.tree.Lookup(id); ok {
		s.w.held.put(id, p.framed.Record, p.whole)
		s.w.builder.SetWhole(e.Index, p.whole)
	}
}

// inherit takes over the whole records of the session that this one copies.
func (s *Session) inherit(h held) {
	s.w.held = maps.Clone(h)
	s.showWhole()
}

// limit is persist. whole is the record itself if the stored one lacks something, else nil. Images do not count: readers take them from
// their blobs.
func (s *Session) limit(ctx context.Context, record []byte) (stored, whole []byte, err error) {
	stored, err = s.persist(ctx, record)
	if err != nil || bytes.Equal(stored, record) {
		return stored, nil, err
	}
	limited, err := s.w.d.Persist(record, dialect.PersistOptions{}) // with images left in
	if err != nil || bytes.Equal(limited, record) {
		return stored, nil, err
	}
	return stored, record, nil
}

// whole returns the record of an entry as it was appended or, if it was appended before the session was opened, with what
// its blobs restore. The caller holds the lock.
func (s *Session) whole(ctx context.Context, e session.Entry) (record []byte, problems []session.Problem, err error) {
	if record, ok := e.Whole(); ok {
		return record, nil, nil
	}
	return s.shelf().Whole(ctx, e)
}

// restorer returns the function that makes the records of a context from those of the log: whole if that is asked for, and otherwise as the
// agent sends them, with a Problem for each that was cut. It is nil for agents that cut nothing.
func (s *Session) restorer(ctx context.Context, opt ContextOptions) func(session.Entry, []byte) []byte {
	d, ok := s.dialect.(dialect.Overflower)
	if !ok {
		return nil
	}
	shelf := s.shelf()
	var told sync.Map // a context is read more than once
	report := func(e session.Entry, problems ...session.Problem) {
		if _, again := told.LoadOrStore(e.Index, true); again || opt.Problem == nil {
			return
		}
		for _, p := range problems {
			opt.Problem(p)
		}
	}
	return func(e session.Entry, record []byte) []byte {
		if opt.Whole {
			record, problems := shelf.Restore(ctx, e, record)
			report(e, problems...)
			return record
		}
		if d.IsCut(record) {
			report(e, session.Problem{File: shelf.Path, Line: e.Line, Offset: e.Span.Offset, Kind: session.ProblemCut,
				Message: "the agent's format cut a long text of entry " + string(e.ID),
				Advice:  "the model gets what is left; the whole text is kept outside of the log"})
		}
		return record
	}
}
