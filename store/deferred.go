package store

import (
	"context"
	"slices"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store/lists"
)

// Deferred creation: the log of a new session is created with the first entry that makes it worth keeping, with the first entry of any kind
// at DurabilityAlways, by Flush, or by a durable branch. Until then its records wait in memory.

// appendDeferred adds the records of an entry to a session whose log is not created yet.
func (s *Session) appendDeferred(ctx context.Context, group []*proposal) (Appended, error) {
	w := s.w
	if err := s.frame(group); err != nil {
		return Appended{}, err
	}
	at := s.tree.Len() // every record becomes one entry
	if w.opt.Durability == DurabilityAlways || slices.ContainsFunc(group, func(p *proposal) bool { return wakes(w.opt.Defer, s.asWritten(p)) }) {
		if err := s.create(ctx, appendFramed(nil, group)...); err != nil {
			return Appended{}, err
		}
	} else {
		for _, r := range appendFramed(nil, group) {
			s.wait(r)
		}
		w.builder.Finish()
	}
	w.tip, w.moved = s.tree.LeafID(), false
	var id session.EntryID
	for _, p := range group {
		at += len(p.framed.Before)
		id = s.tree.At(at).ID
		s.hold(id, p)
		at += 1 + len(p.framed.After)
	}
	return Appended{ID: id, Durable: w.created && s.stored()}, nil
}

// asWritten returns the body of an entry as decoded from its record: the dialect may know more of a message than its role.
func (s *Session) asWritten(p *proposal) session.Body {
	if _, ok := p.entry.Body.(session.Message); ok {
		if body, err := lists.Body(s.dialect, p.record); err == nil {
			return body
		}
	}
	return p.entry.Body
}

// wait keeps a record for the log that is to be created, and decodes it.
func (s *Session) wait(record []byte) {
	w := s.w
	w.waiting = append(w.waiting, record)
	w.dec.Decode(dialect.Record{Data: record, Offset: w.end, Line: len(w.waiting)})
	w.end += int64(len(record)) + 1
}

// wakes reports whether an entry ends the deferral of the log.
func wakes(d dialect.Defer, body session.Body) bool {
	m, ok := body.(session.Message)
	if !ok {
		return false
	}
	switch d {
	case dialect.DeferMessage:
		return !m.Meta && (m.Role == session.RoleUser || m.Role == session.RoleAssistant)
	case dialect.DeferAssistant:
		return m.Role == session.RoleAssistant
	}
	return true
}

// stored reports whether what is written outlives the process.
func (s *Session) stored() bool { return s.at.Path != "" }

// endDeferral creates the log now if its creation is deferred.
func (s *Session) endDeferral(ctx context.Context) error {
	if s.w.created {
		return nil
	}
	return s.create(ctx)
}

// worthALog reports whether the session has an entry that ends the deferral.
func (s *Session) worthALog() bool {
	if s.w.opt.Durability == DurabilityAlways {
		return true
	}
	for e := range s.tree.Entries() {
		if e.Kind != session.KindMessage {
			continue
		}
		if body, err := e.Body(); err == nil && wakes(s.w.opt.Defer, body) {
			return true
		}
	}
	return false
}

// create writes the log: the header, all waiting records, and more. It cannot be cancelled: the session must know whether the log exists.
// What could not be written is not in the tree.
func (s *Session) create(ctx context.Context, more ...[]byte) error {
	w := s.w
	s.noted(s.noteNew(ctx))
	at, err := s.at.Backend.Create(context.WithoutCancel(ctx), s.at.Name, append(slices.Clip(w.waiting), more...)...)
	if err != nil {
		s.takeBack(ctx, err)
		return s.latch(err)
	}
	w.builder.Written()
	for _, r := range more {
		s.wait(r)
	}
	w.builder.Finish()
	lines := len(w.waiting)
	w.created, w.waiting = true, nil
	s.log = at
	s.source.Grown(at)
	s.follow(lines, false)
	s.breadcrumb(ctx)
	return nil
}

// follow remembers the log as it is now, with so many lines, to notice what other processes write.
func (s *Session) follow(lines int, unterminated bool) {
	// If the head cannot be read, the log changed, and the Tail will say so.
	head, _ := s.source.Bytes(session.Span{Length: min(s.tree.Header().Span.End(), logtree.HeadMost)})
	s.w.tail = logtree.Tail{
		Backend: s.at.Backend, At: s.log, Head: head, Pos: s.log.Size, Line: lines, Unterminated: unterminated,
	}
	s.w.unsure = false
}
