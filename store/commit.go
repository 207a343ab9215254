package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// patience is how often a write that others get in the way of is tried again. Each time somebody else got on.
const patience = 1000

// commit writes a batch. When somebody else wrote meanwhile it catches up, acts by policy and tries again. The session's
// lock is held, but for the time of the write itself: see write. Each round ends in one of four ways: written; not begun,
// since it was cancelled; a conflict, after which the log is looked at again; or an error that is latched, because what is
// on disk is then not known.
func (s *Session) commit(batch []*proposal) error {
	ctx := batch[0].ctx
	if len(batch) > 1 {
		ctx = context.WithoutCancel(ctx) // who shares a write cannot call it off
	}
	foreign := 0
	for range patience {
		now, err := s.write(ctx, batch)
		switch {
		case err == nil:
			s.accept(now, batch, foreign)
			return nil
		// The backend gives that cause only where nothing was written.
		case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
			return &givenUpError{err}
		case !errors.Is(err, backend.ErrConflict) && !errors.Is(err, backend.ErrInterleaved) && !errors.Is(err, backend.ErrChanged):
			return s.latch(err)
		}
		// Entries from known on are what others wrote, unless the log was replaced: then it is another tree.
		before, known := s.tree, s.tree.Len()
		// Not to be cancelled: half a look at the log would leave tree and log apart.
		fresh, err := s.catchUp(context.WithoutCancel(ctx))
		if err != nil {
			return s.latch(err)
		}
		if s.tree != before {
			known = s.tree.Len() // which entries are new is not known
		}
		// After ErrInterleaved it is: a writer without a lock only came in between. To write it again would double the
		// entries.
		if s.has(batch, known) {
			// It was written after all, between what others wrote.
			if s.w.opt.Policy != PolicyFollow {
				_ = s.w.builder.SetLeaf(batch[len(batch)-1].entry.ID) // it is there
			}
			s.acknowledge(batch, foreign+fresh-len(batch))
			return nil
		}
		// Over all rounds: the caller is told how many entries others wrote meanwhile.
		foreign += fresh
		if err := s.settle(batch, fresh); err != nil {
			return err
		}
	}
	return s.latch(fmt.Errorf("%w again and again", backend.ErrConflict))
}

// write appends the records of a batch. The lock is not held meanwhile.
func (s *Session) write(ctx context.Context, batch []*proposal) (backend.Log, error) {
	w := s.w
	// Only where the last line is another program's: all of ours end.
	if w.loose {
		if err := s.tighten(ctx); err != nil {
			return backend.Log{}, err
		}
	}
	// Its memory is used again by each batch; no two are written at once.
	records := w.records[:0]
	for _, p := range batch {
		records = append(records, p.record)
	}
	w.records = records
	// What the backend compares the file with. Nobody else changes it while busy is set.
	at := s.log
	s.mu.Unlock()
	defer s.mu.Lock()
	return w.b.Append(ctx, at, records...)
}

// tighten gives a last line its newline that has entries and, with them, what is no record: an append would take the
// whole line for torn, and move the entries away.
func (s *Session) tighten(ctx context.Context) error {
	lines, err := s.edited(ctx, edits{})
	if err != nil {
		return err
	}
	// Trees that were handed out go on to read the old file.
	s.source.hold(ctx)
	now, err := s.w.b.Replace(ctx, s.log, lines...)
	if err != nil {
		return err
	}
	// Reading it anew would move the leaf to the last entry of the file.
	leaf := s.tree.LeafID()
	if err := s.reload(context.WithoutCancel(ctx), now); err != nil {
		return err
	}
	return s.w.builder.SetLeaf(leaf)
}

// has says whether all entries of a batch are in the log: by their ids or, where records carry none, by their bytes among
// the entries from fresh on.
func (s *Session) has(batch []*proposal, fresh int) bool {
	for _, p := range batch {
		e, ok := s.tree.Lookup(p.entry.ID)
		// Each record of the batch is looked for behind the one before it: a batch is written in one piece.
		for ; !ok && fresh < s.tree.Len(); fresh++ {
			e = s.tree.At(fresh)
			raw, err := e.Raw()
			ok = err == nil && bytes.Equal(raw, p.record)
			p.given = e.ID
		}
		if !ok {
			p.given = ""
			return false
		}
		// Where the log was replaced meanwhile the record cannot be read; the id, made by chance, says enough.
		if raw, err := e.Raw(); err == nil && !bytes.Equal(raw, p.record) {
			return false
		}
	}
	return true
}

// accept takes entries that were written into the tree. The tree decodes nothing where the dialect can take the proposal as
// it is (Adder); otherwise the record goes through the decoder like any other.
func (s *Session) accept(now backend.Log, batch []*proposal, foreign int) {
	w := s.w
	size := int64(0)
	for _, p := range batch {
		size += int64(len(p.record)) + 1
	}
	// The batch is at the end of the log: offsets are counted back from there, since the backend may have written a newline
	// that was missing before it.
	offset := now.Size - size
	if offset < s.log.Size {
		w.lines-- // a torn end was moved away
		s.source.cut(now)
	} else {
		s.source.grown(now)
	}
	s.log = now
	for _, p := range batch {
		w.lines++
		known := s.tree.Len()
		r := dialect.Record{Data: p.record, Offset: offset, Line: w.lines}
		if w.adder == nil || !w.adder.Add(p.entry, r) {
			w.dec.Decode(r)
			if n := s.tree.Len(); n > known {
				p.given = s.tree.At(n - 1).ID
			}
		}
		offset += int64(len(p.record)) + 1
	}
	w.builder.Finish()
	last := batch[len(batch)-1].record
	// What readEnds would read, without reading.
	w.tail = append(append(w.tail[:0], last[max(0, len(last)-tailKept+1):]...), '\n')
	s.acknowledge(batch, foreign)
}

// acknowledge tells the appenders.
func (s *Session) acknowledge(batch []*proposal, foreign int) {
	for _, p := range batch {
		p.result = Appended{ID: cmp.Or(p.given, p.entry.ID), Durable: true, Foreign: foreign}
		if foreign > 0 {
			p.result.Outcome = s.w.opt.Policy
		}
	}
	s.finish(batch, nil)
}

// settle makes a batch fit again after others wrote fresh entries. An error is what the batch ends with.
func (s *Session) settle(batch []*proposal, fresh int) error {
	w := s.w
	if fresh == 0 {
		return nil // only the time or the place of the file changed
	}
	w.opt.tell(Event{Kind: EventForeign, Path: s.path, Count: fresh})
	switch w.opt.Policy {
	case PolicyRefuse:
		return s.refused(fresh)
	case PolicyFollow:
		// Only the first needs another parent: the others hang on each other.
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
	return named(s.path, fmt.Errorf("%w: %d new entries; nothing was written", ErrForeign, fresh))
}

// renew gives those of our entries new ids whose ids others took meanwhile. Entry ids are eight hex digits in most
// dialects: two writers do meet.
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
		// What was proposed meanwhile hangs on the entry as well.
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

// catchUp reads what others wrote since we last looked, and says how many entries of theirs there are. The leaf stays
// where it is, unless the policy is to follow. A log that is gone is an error and never made anew: what it held before our
// entry would be missing.
func (s *Session) catchUp(ctx context.Context) (fresh int, err error) {
	leaf, problems := s.tree.LeafID(), s.tree.Problems()
	for range patience {
		var now backend.Log
		now, err = s.w.b.Stat(ctx, s.w.name)
		if errors.Is(err, backend.ErrNotExist) {
			return fresh, fmt.Errorf("%w any more: it was deleted or moved away, and is not made again without what it held", backend.ErrNotExist)
		}
		if err != nil {
			return fresh, err
		}
		var more int
		if s.grew(ctx, now) {
			more, err = s.readOn(ctx, now)
		} else {
			more, err = s.readAgain(ctx, now)
		}
		fresh += more
		if !errors.Is(err, backend.ErrChanged) {
			break
		}
		s.w.tail = nil // it is not known any more how much of the log is in the tree
	}
	if err != nil {
		return fresh, err
	}
	s.tellProblems(problems)
	if s.w.opt.Policy != PolicyFollow {
		// Reading others' entries moves the leaf behind them.
		if err := s.w.builder.SetLeaf(leaf); err != nil {
			return fresh, fmt.Errorf("the log was replaced by one without our place in it: %w", err)
		}
	}
	return fresh, nil
}

// grew says whether the log is the one we know, with more at its end. Sizes and times would not do: a program that rewrites
// its file, as omp does, leaves a longer one, too.
func (s *Session) grew(ctx context.Context, now backend.Log) bool {
	head, tail := s.w.head, s.w.tail
	if now.Size <= s.log.Size || len(tail) == 0 || tail[len(tail)-1] != '\n' {
		return false // a last line without newline may have been continued, or taken away
	}
	src, err := newSource(ctx, s.w.b, now)
	if err != nil {
		return false
	}
	defer src.Close()
	// What stood at both ends when we last looked must stand there still: titles are changed in place.
	n := int64(len(tail))
	got, err := src.Bytes(session.Span{Offset: s.log.Size - n, Length: n})
	if err != nil || !bytes.Equal(got, tail) {
		return false
	}
	got, err = src.Bytes(session.Span{Length: int64(len(head))})
	return err == nil && bytes.Equal(got, head)
}

// readOn reads what was appended.
func (s *Session) readOn(ctx context.Context, now backend.Log) (fresh int, err error) {
	w := s.w
	before := s.tree.Len()
	for r, err := range w.b.Read(ctx, now, s.log.Size) {
		if err != nil {
			w.builder.Finish()
			return s.tree.Len() - before, err
		}
		w.lines++
		known := s.tree.Len()
		w.dec.Decode(dialect.Record{Data: r.Data, Offset: r.Offset, Line: w.lines, Torn: r.Torn})
		// Of the last line, which is the last one that is read.
		w.loose = isLoose(r.Data, r.Torn, s.tree.Len()-known)
	}
	w.builder.Finish()
	s.log = now
	s.source.grown(now)
	s.readEnds()
	return s.tree.Len() - before, nil
}

// isLoose says whether a line is without newline and has entries that would go with what is torn.
func isLoose(line []byte, torn bool, entries int) bool {
	return torn && entries > 0 && !rawjson.Valid(line)
}

// readAgain reads a log that is not the one we knew. Entries are compared by their ids, so that what is known from before
// does not count as foreign.
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
			s.w.opt.tell(Event{Kind: EventProblem, Path: s.path, Problem: &p})
		}
	}
}
