package store

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// proposal is an entry that is not in the tree yet.
type proposal struct {
	ctx    context.Context
	entry  dialect.NewEntry
	from   []byte // a record that the caller has of it, if any
	fixed  bool   // the caller chose the parent: it stays, whatever others write
	moved  bool   // the leaf was moved to the parent
	record []byte
	framed dialect.Framed // what is written: record and what the agent writes with it
	beside bool           // nothing can follow the entry: the next one follows the entry before it
	whole  []byte         // the record before persist, if persist removed something
	// turn is closed when the appender may lead the next batch, or when all is done. It is nil if the appender does not wait.
	turn chan struct{}
	done bool
	// given is the id that the entry has in the log, if its record carries none.
	given  session.EntryID
	result Appended
	err    error
}

// propose makes the records of a new entry: one, unless the dialect spreads it. Blobs are stored before the record that
// names them. The caller holds the lock; the next call may use the list again.
func (s *Session) propose(ctx context.Context, body session.Body, from []byte, parent session.EntryID) ([]*proposal, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := s.check(body, parent); err != nil {
		return nil, err
	}
	id, err := s.freshID()
	if err != nil {
		return nil, s.named(err)
	}
	list := []dialect.NewEntry{{ID: id, Parent: parent, Time: s.w.opt.Clock(), Body: body}}
	if d, ok := s.dialect.(dialect.Spreader); ok && from == nil {
		if list, err = d.Spread(list[0], s.freshID); err != nil {
			return nil, s.named(err)
		}
	}
	group := s.w.group[:]
	if len(list) != len(group) {
		group = make([]*proposal, len(list))
	}
	for i, n := range list {
		if i > 0 {
			n.Parent = next(group[i-1])
		}
		p := s.w.free
		if s.w.free = nil; p == nil {
			p = &proposal{}
		}
		n.Room = p.record
		group[i], p.ctx, p.from, p.entry = p, ctx, from, n
		if err := s.encode(p); err != nil {
			return nil, err
		}
	}
	return group, nil
}

// encode makes the record of a proposal, again if its id or parent changed. Blobs that were stored for it before stay:
// they are the same.
func (s *Session) encode(p *proposal) error {
	// Formats without a header record put what it would say into their entries.
	if p.entry.Header == nil {
		s.w.header = s.tree.Header()
		p.entry.Header = &s.w.header
	}
	record, err := s.w.d.Record(p.entry)
	if adopter, ok := s.dialect.(dialect.Adopter); ok && err == nil && p.from != nil {
		record = adopter.Adopt(record, p.from)
	}
	if err == nil && !s.w.opt.Force && (!utf8.Valid(record) || !utf8.Valid(p.from)) {
		return s.refuse("the entry has text that is not UTF-8")
	}
	// Checked before persist, so that no blob is stored for an entry that is refused.
	if err == nil && len(record) > MaxRecord && s.at.Path != "" {
		err = fmt.Errorf("the entry has %d bytes: %w", len(record), ErrTooLarge)
	}
	if err == nil {
		p.record, p.whole, err = s.limit(p.ctx, record)
		p.beside = dialect.IsBeside(s.dialect, record)
	}
	if s.w.err != nil {
		return s.w.err // a blob could not be stored; the latched error names the file
	}
	return s.named(err)
}

// persist changes a record as the agent does before it stores one: large images go to blobs, very long strings are cut. A session in memory
// keeps records as they are.
func (s *Session) persist(ctx context.Context, record []byte) ([]byte, error) {
	w := s.w
	if s.at.Path == "" {
		return record, nil
	}
	opt := dialect.PersistOptions{KeepOverflow: !w.opt.NoOverflow}
	if w.blobs != nil {
		opt.Put = func(b []byte) (string, error) {
			ref, err := s.storeBlob(ctx, b)
			if err != nil && ctx.Err() == nil {
				err = s.latch(err) // like a record that could not be written
			}
			return ref, err
		}
	}
	return w.d.Persist(record, opt)
}

// storeBlob stores a blob that an entry of the session will refer to. Its folder is noted first, so that garbage
// collection looks there.
func (s *Session) storeBlob(ctx context.Context, b []byte) (string, error) {
	note := s.noteNew
	if s.w.created {
		note = s.noteAgain
	}
	if err := note(ctx); err != nil {
		return "", err
	}
	ref, err := s.w.blobs.Put(ctx, b)
	return ref.String(), err
}

// idTries is how many random ids are tried before giving up; the agents' programs try as many.
const idTries = 100

// freshID makes an id that no entry has, in the log or proposed.
func (s *Session) freshID() (session.EntryID, error) {
	for range idTries {
		id, err := s.w.d.NewEntryID(s.w.opt.Random)
		if err != nil {
			return "", err
		}
		if !s.tree.Has(id) && s.proposed(id) == nil {
			return id, nil
		}
	}
	return "", errors.New("no free entry id found in 100 tries")
}

// proposed returns the entry with that id that is not written yet, nil if there is none.
func (s *Session) proposed(id session.EntryID) *proposal {
	for _, list := range [...][]*proposal{s.w.batch, s.w.queue} {
		for _, p := range list {
			if p.entry.ID == id {
				return p
			}
		}
	}
	return nil
}
