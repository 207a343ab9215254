package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// propose makes the record of a new entry. Blobs are kept before the record that names them can be. The session's lock is
// held; the proposal is nobody else's until it is queued.
func (s *Session) propose(ctx context.Context, body session.Body, from []byte, parent session.EntryID) (*proposal, error) {
	w := s.w
	id, err := s.freshID()
	if err != nil {
		return nil, named(s.path, err)
	}
	// The memory of the last one, if nobody has it any more.
	p := w.done
	if w.done = nil; p == nil {
		p = new(proposal)
	}
	p.ctx, p.from = ctx, from
	if m, ok := body.(*session.Message); ok {
		// The caller's message is used again for the next: see AppendMessage.
		p.said = *m
		body = &p.said
	}
	p.entry = dialect.NewEntry{ID: id, Parent: parent, Time: w.opt.Clock(), Body: body}
	if err := s.encode(p); err != nil {
		return nil, err
	}
	return p, nil
}

// encode makes the record of a proposal, again where its id or parent changed. Blobs that were put for it before stay: they
// are the same.
func (s *Session) encode(p *proposal) error {
	record, err := s.recordOf(p)
	if err == nil && p.from != nil {
		if a, ok := s.dialect.(dialect.Adopter); ok {
			record = a.Adopt(record, p.from)
		}
	}
	// Asked before persist: no blob is kept for an entry that is refused.
	if err == nil && len(record) > MaxRecord && s.path != "" {
		err = fmt.Errorf("the entry has %d bytes: %w", len(record), ErrTooLarge)
	}
	if err == nil {
		p.record, err = s.persist(p.ctx, record)
	}
	// A blob that could not be kept has latched: that error names the file already.
	if s.w.err != nil {
		return s.w.err
	}
	return named(s.path, err)
}

// recordOf has the dialect make the record, in the proposal's own memory where it can.
func (s *Session) recordOf(p *proposal) (record []byte, err error) {
	// Formats without a header record put what it would say into the first entry.
	if p.entry.Parent == "" && p.entry.Header == nil {
		h := s.tree.Header()
		p.entry.Header = &h
	}
	if s.w.maker == nil {
		return s.w.d.Record(p.entry)
	}
	if record, err = s.w.maker.AppendRecord(p.buf[:0], p.entry); err == nil {
		p.buf = record
	}
	return record, err
}

// persist does to a record what the agent does before it keeps one. What is only in memory may have any size.
func (s *Session) persist(ctx context.Context, record []byte) ([]byte, error) {
	w := s.w
	if s.path == "" {
		return record, nil
	}
	opt := dialect.PersistOptions{KeepOverflow: !w.opt.NoOverflow}
	if w.blobs != nil {
		k := &w.keeper
		if k.put == nil {
			k.put = k.keep
		}
		k.s, k.ctx = s, ctx
		// A context is not kept beyond its call.
		defer func() { k.ctx = nil }()
		opt.Put = k.put
	}
	return w.d.Persist(record, opt)
}

// blobKeeper keeps the blobs of the record that is being persisted. There is one for all records of a session: hardly any
// has a blob, and a function made for each would be garbage.
type blobKeeper struct {
	s   *Session
	ctx context.Context
	put func(b []byte) (ref string, err error)
}

func (k *blobKeeper) keep(b []byte) (string, error) {
	ref, err := k.s.keepBlob(k.ctx, b)
	if err != nil && k.ctx.Err() == nil {
		err = k.s.latch(err) // like a record that could not be written
	}
	return ref, err
}

// freshID makes an id that no entry has, in the log or proposed.
func (s *Session) freshID() (session.EntryID, error) {
	// As many as the programs try.
	for range 100 {
		id, err := s.w.d.NewEntryID(s.w.opt.Random)
		if err != nil {
			return "", err
		}
		if !s.tree.Has(id) && !s.isProposed(id) {
			return id, nil
		}
	}
	return "", errors.New("no free entry id found in 100 tries")
}

// isProposed looks at what is being written and what waits: neither is in the tree yet.
func (s *Session) isProposed(id session.EntryID) bool {
	same := func(p *proposal) bool { return p.entry.ID == id }
	return slices.ContainsFunc(s.w.batch, same) || slices.ContainsFunc(s.w.queue, same)
}
