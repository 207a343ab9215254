package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
)

// maxRounds bounds how often a write is tried again because other processes wrote first. In each round one of them succeeds.
const maxRounds = 1000

// commit writes a batch. If another process wrote meanwhile, it catches up, acts by policy and tries again. The caller holds the session's
// lock, which is released during the write itself. A round ends in one of four ways: the batch is written; nothing was written because the
// append was cancelled; a conflict, after which commit reads the log again; or an error, which is latched because what is on disk is then
// unknown.
func (s *Session) commit(batch []*proposal) error {
	ctx := batch[0].ctx
	if len(batch) > 1 {
		ctx = context.WithoutCancel(ctx) // a shared write cannot be cancelled
	}
	foreign := 0
	for range maxRounds {
		if err := s.frame(batch); err != nil {
			return err
		}
		now, err := s.write(ctx, batch)
		switch {
		case err == nil:
			s.accept(now, batch, foreign)
			return nil
		// The backend returns that cause only if nothing was written.
		case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
			return &cancelledError{err}
		case !errors.Is(err, backend.ErrConflict) && !errors.Is(err, backend.ErrInterleaved) && !errors.Is(err, backend.ErrChanged):
			return s.latch(err)
		}
		// Entries from known on were written by other processes, unless the log was replaced: then the tree is another one. After a
		// conflict none of them is ours: another program may have written the same record.
		before, known, nothing := s.tree, s.tree.Len(), errors.Is(err, backend.ErrConflict)
		fresh, err := s.catchUp(ctx)
		if err != nil {
			return s.latch(err)
		}
		if s.tree != before || nothing {
			known = s.tree.Len()
		}
		// After ErrInterleaved the batch is in the log: a writer without a lock came in between. To write it again would
		// double the entries.
		if s.has(batch, known) {
			if s.w.opt.Policy != PolicyFollow {
				_ = s.w.builder.SetLeaf(next(batch[len(batch)-1])) // the log has it
			}
			s.acknowledge(batch, max(foreign+fresh-len(appendFramed(nil, batch)), 0))
			return nil
		}
		foreign += fresh
		if err := s.settle(batch, fresh); err != nil {
			return err
		}
	}
	return s.latch(fmt.Errorf("%w again and again", backend.ErrConflict))
}

// frame makes the bytes to write for a batch, for the log as it is now. An error is not latched: nothing was written.
func (s *Session) frame(batch []*proposal) error {
	framer, ok := s.dialect.(dialect.Framer)
	if !ok {
		for _, p := range batch {
			p.framed = dialect.Framed{Record: p.record}
		}
		return nil
	}
	list := make([]dialect.NewRecord, len(batch))
	for i, p := range batch {
		list[i] = dialect.NewRecord{NewEntry: p.entry, Record: p.record, Moved: p.moved}
	}
	i, failed := 0, error(nil) // a return in the loop would allocate the result for every append
	for framed, err := range framer.Frame(s.tree, slices.Values(list)) {
		if failed = err; err != nil {
			break
		}
		batch[i].framed = framed
		i++
	}
	return s.named(failed)
}

// appendFramed appends the bytes to write for a batch, in order.
func appendFramed(records [][]byte, batch []*proposal) [][]byte {
	for _, p := range batch {
		records = append(append(append(records, p.framed.Before...), p.framed.Record), p.framed.After...)
	}
	return records
}

// write appends the records of a batch. The lock is released meanwhile; busy keeps others from changing the log's state.
func (s *Session) write(ctx context.Context, batch []*proposal) (backend.Log, error) {
	if s.w.loose {
		if err := s.tighten(ctx); err != nil {
			return backend.Log{}, err
		}
	}
	w, at := s.w, s.log
	records := appendFramed(w.lines, batch)
	w.lines = nil
	s.mu.Unlock()
	defer s.mu.Lock()
	now, err := s.at.Backend.Append(ctx, at, records...)
	if err == nil { // otherwise the backend may still use the list
		clear(records)
		w.lines = records[:0] // there is one write at a time
	}
	return now, err
}

// tighten terminates a last line that holds entries and something that is not a record: otherwise an append would move the whole line aside
// as torn.
func (s *Session) tighten(ctx context.Context) error {
	lines, err := s.edited(ctx, edits{})
	if err != nil {
		return err
	}
	s.source.Hold(ctx) // trees that were handed out keep reading the old file
	now, err := s.swap(ctx, lines, 0)
	if err != nil {
		return err
	}
	leaf := s.tree.LeafID() // reading the log again would move it to the last entry
	if err := s.reload(context.WithoutCancel(ctx), now); err != nil {
		return err
	}
	return s.w.builder.SetLeaf(leaf)
}

// accept adds a written batch to the tree, with the records around its entries.
func (s *Session) accept(now backend.Log, batch []*proposal, foreign int) {
	w := s.w
	size := int64(0)
	for _, p := range batch {
		size += p.framed.Size()
	}
	// The batch is at the end of the log. Offsets are counted back from there: the backend may have written a missing
	// newline before it.
	offset := now.Size - size
	if offset < s.log.Size {
		w.tail.Line-- // a torn end was moved aside
		s.source.Cut(now)
	} else {
		s.source.Grown(now)
	}
	s.log = now
	w.tail.At, w.tail.Pos, w.tail.Unterminated = now, now.Size, false
	add := func(record []byte, entry *dialect.NewEntry) {
		w.tail.Line++
		r := dialect.Record{Data: record, Offset: offset, Line: w.tail.Line}
		if adder, ok := w.dec.(dialect.Adder); !ok || entry == nil || !adder.Add(*entry, r) {
			w.dec.Decode(r)
		}
		offset += int64(len(record)) + 1
	}
	for _, p := range batch {
		for _, r := range p.framed.Before {
			add(r, nil)
		}
		known := s.tree.Len()
		add(p.framed.Record, &p.entry)
		if n := s.tree.Len(); n > known {
			p.given = s.tree.At(n - 1).ID
		}
		for _, r := range p.framed.After {
			add(r, nil)
		}
	}
	w.builder.Finish()
	s.acknowledge(batch, foreign)
}

// acknowledge tells the appenders of a batch that it is written.
func (s *Session) acknowledge(batch []*proposal, foreign int) {
	s.w.moved = false
	for _, p := range batch {
		id := cmp.Or(p.given, p.entry.ID)
		s.hold(id, p)
		p.result = Appended{ID: id, Durable: s.stored(), Foreign: foreign}
		if foreign > 0 {
			p.result.Outcome = s.w.opt.Policy
		}
	}
	finish(batch, nil)
}
