package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/session"
)

// has reports whether all entries of a batch are in the log. It looks for their ids or, if the records carry none, for their bytes among
// the entries from fresh on, some of which may be ours.
func (s *Session) has(batch []*proposal, fresh int) bool {
	for _, p := range batch {
		e, ok := s.tree.Lookup(p.entry.ID)
		// A batch is written in one piece: each record is looked for after the one before it.
		for ; !ok && fresh < s.tree.Len(); fresh++ {
			e = s.tree.At(fresh)
			raw, err := e.Raw()
			ok = err == nil && bytes.Equal(raw, p.framed.Record)
			p.given = e.ID
		}
		if !ok {
			p.given = ""
			return false
		}
		// If the log was replaced meanwhile, the record cannot be read; the random id is proof enough.
		if raw, err := e.Raw(); err == nil && !bytes.Equal(raw, p.framed.Record) {
			return false
		}
	}
	return true
}

// settle makes a batch fit the log again after other processes wrote fresh entries. An error ends the batch.
func (s *Session) settle(batch []*proposal, fresh int) error {
	w := s.w
	if fresh == 0 {
		return nil // only the time or the identity of the file changed
	}
	w.opt.tell(Event{Kind: EventForeign, Path: s.at.Path, Count: fresh, Outcome: w.opt.Policy})
	_, linear := s.dialect.(dialect.Reacher)
	switch {
	// In a linear log a branch would remove the foreign entries from the conversation.
	case w.opt.Policy == PolicyRefuse, linear && batch[0].moved:
		return s.refused(fresh)
	case w.opt.Policy == PolicyFollow:
		// Only the first needs another parent: the others follow each other.
		if first := batch[0]; !first.fixed {
			first.entry.Parent = s.tree.LeafID()
			if err := s.encode(first); err != nil {
				return s.latch(err)
			}
		}
	}
	return s.renew(batch)
}

func (s *Session) refused(fresh int) error {
	return s.named(fmt.Errorf("%w: %d new entries; nothing was written", ErrForeign, fresh))
}

// renew gives new ids to those of our entries whose ids other processes used meanwhile. Ids are eight hex digits in most dialects, so two
// writers do collide.
func (s *Session) renew(batch []*proposal) error {
	w := s.w
	for i, p := range batch {
		if !s.tree.Has(p.entry.ID) {
			continue
		}
		id, err := s.freshID()
		if err != nil {
			return s.latch(err)
		}
		old := p.entry.ID
		p.entry.ID = id
		if w.tip == old {
			w.tip = id
		}
		// What was proposed meanwhile follows the entry as well.
		for _, q := range slices.Concat(batch[i:], w.queue) {
			if q.entry.Parent == old && !q.fixed {
				q.entry.Parent = id
			} else if q != p {
				continue
			}
			if err := s.encode(q); err != nil {
				return s.latch(err)
			}
		}
	}
	return nil
}

// catchUp reads what other processes wrote since the log was last read, and returns the number of their entries. The leaf stays, unless the
// policy is to follow. A log that is gone is an error and is never created again: everything before our entry would be missing. catchUp
// cannot be cancelled: a log that is half read would differ from the tree.
func (s *Session) catchUp(ctx context.Context) (fresh int, err error) {
	ctx = context.WithoutCancel(ctx)
	leaf, problems := s.tree.LeafID(), s.tree.Problems()
	for range maxRounds {
		var more int
		more, err = s.readNew(ctx)
		fresh += more
		if !errors.Is(err, backend.ErrChanged) {
			break
		}
		s.w.unsure = true
	}
	if err != nil {
		return fresh, err
	}
	s.tellProblems(problems)
	if s.tree.LeafID() == leaf {
		return fresh, nil
	}
	// Reading foreign entries moved the leaf to them.
	if s.w.opt.Policy == PolicyFollow {
		s.w.moved = false
	} else if err := s.w.builder.SetLeaf(leaf); err != nil {
		return fresh, fmt.Errorf("the log was replaced by one without our place in it: %w", err)
	}
	return fresh, nil
}

// readNew looks at the log once and reads what is new in it.
func (s *Session) readNew(ctx context.Context) (fresh int, err error) {
	now, change, err := s.w.tail.Look(ctx)
	switch {
	case err != nil:
		return 0, err
	case change == logtree.Removed:
		return 0, fmt.Errorf("%w any more: it was deleted or moved away, and is not made again without what it held", backend.ErrNotExist)
	// An unterminated line may have been continued: then its record is another one now.
	case change == logtree.Grown && !s.w.tail.Unterminated && !s.w.unsure:
		return s.readOn(ctx, now)
	}
	return s.readAgain(ctx, now)
}

// readOn reads what was appended.
func (s *Session) readOn(ctx context.Context, now backend.Log) (fresh int, err error) {
	w := s.w
	before := s.tree.Len()
	for r, err := range w.tail.Records(ctx, now) {
		if err != nil {
			w.builder.Finish()
			return s.tree.Len() - before, err
		}
		known := s.tree.Len()
		w.dec.Decode(r)
		w.loose = logtree.IsLoose(r.Data, r.Torn, s.tree.Len()-known)
	}
	w.builder.Finish()
	s.log = now
	s.source.Grown(now)
	return s.tree.Len() - before, nil
}

// readAgain reads a log that replaced the one we knew. Entries are compared by their ids, so that known ones do not count as foreign.
func (s *Session) readAgain(ctx context.Context, now backend.Log) (fresh int, err error) {
	old := s.tree
	if err := s.reload(ctx, now); err != nil {
		return 0, err
	}
	for e := range s.tree.Entries() {
		if !old.Has(e.ID) {
			fresh++
		}
	}
	return fresh, nil
}

// tellProblems tells the observer of problems that were not there before.
func (s *Session) tellProblems(before []session.Problem) {
	known := make(map[session.Problem]bool, len(before))
	for _, p := range before {
		known[p] = true
	}
	for _, p := range s.tree.Problems() {
		if !known[p] {
			s.w.opt.tell(Event{Kind: EventProblem, Path: s.at.Path, Problem: &p})
		}
	}
}
