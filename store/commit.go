package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// commit writes a batch. When somebody else wrote meanwhile it catches up, acts by policy and tries again.
func (s *Session) commit(ctx context.Context, batch []*proposal) error {
	w := s.w
	foreign := 0
	for range 50 {
		records := make([][]byte, len(batch))
		for i, p := range batch {
			records[i] = p.record
		}
		at := s.log
		s.mu.Unlock()
		now, err := w.b.Append(ctx, at, records...)
		s.mu.Lock()
		if err == nil {
			s.accept(now, batch, foreign)
			return nil
		}
		if !errors.Is(err, backend.ErrConflict) {
			return s.latch(err)
		}
		fresh, ours, err := s.catchUp(ctx, records)
		if err != nil {
			return s.latch(err)
		}
		foreign += fresh
		if ours {
			s.acknowledge(batch, foreign)
			return nil
		}
		if err := s.settle(ctx, batch, fresh); err != nil {
			return err
		}
	}
	return s.latch(fmt.Errorf("%w again and again", backend.ErrConflict))
}

// accept takes entries that were written into the tree.
func (s *Session) accept(now backend.Log, batch []*proposal, foreign int) {
	w := s.w
	size := int64(0)
	for _, p := range batch {
		size += int64(len(p.record)) + 1
	}
	offset := now.Size - size
	if offset < s.log.Size {
		w.lines-- // a torn end was moved away
	}
	for _, p := range batch {
		w.lines++
		w.dec.Decode(dialect.Record{Data: p.record, Offset: offset, Line: w.lines})
		offset += int64(len(p.record)) + 1
	}
	w.builder.Finish()
	s.wrote(now)
	last := batch[len(batch)-1].record
	w.tail = append(append(w.tail[:0], last[max(0, len(last)-63):]...), '\n')
	s.acknowledge(batch, foreign)
}

// acknowledge tells the appenders.
func (s *Session) acknowledge(batch []*proposal, foreign int) {
	for _, p := range batch {
		p.result = Appended{ID: p.entry.ID, Durable: true, Foreign: foreign}
		if foreign > 0 {
			p.result.Outcome = s.w.opt.Policy
		}
		delete(s.w.proposed, p.entry.ID)
		close(p.done)
	}
}

// settle makes a batch fit again after others wrote fresh entries.
func (s *Session) settle(ctx context.Context, batch []*proposal, fresh int) error {
	w := s.w
	if fresh == 0 {
		return nil // only the time or the place of the file changed
	}
	w.opt.Observer(Event{Kind: EventForeign, Path: s.path, Count: fresh})
	switch w.opt.Policy {
	case PolicyRefuse:
		return fmt.Errorf("%s: %w: %d new entries; nothing was written", s.path, ErrForeign, fresh)
	case PolicyFollow:
		batch[0].entry.Parent = s.tree.LeafID()
		if err := s.encode(ctx, batch[0]); err != nil {
			return s.latch(err)
		}
	}
	return s.renew(ctx, batch)
}

// renew gives those of our entries new ids whose ids others took meanwhile.
func (s *Session) renew(ctx context.Context, batch []*proposal) error {
	for i, p := range batch {
		if _, taken := s.tree.Lookup(p.entry.ID); !taken {
			continue
		}
		id, err := s.freshID()
		if err != nil {
			return s.latch(err)
		}
		old := p.entry.ID
		delete(s.w.proposed, old)
		s.w.proposed[id] = true
		p.entry.ID = id
		for _, q := range slices.Concat(batch[i:], s.w.queue) {
			if q.entry.Parent == old {
				q.entry.Parent = id
			}
			if err := s.encode(ctx, q); err != nil {
				return s.latch(err)
			}
		}
	}
	return nil
}

// catchUp reads what others wrote since we last looked. fresh counts their entries; ours is set when what is new at the
// end is just what we wanted to write: the write had succeeded after all.
func (s *Session) catchUp(ctx context.Context, records [][]byte) (fresh int, ours bool, err error) {
	w := s.w
	now, err := w.b.Stat(ctx, w.name)
	if errors.Is(err, backend.ErrNotExist) {
		return 0, false, fmt.Errorf("%w any more: it was deleted or moved away, and is not made again without what it held", backend.ErrNotExist)
	}
	if err != nil {
		return 0, false, err
	}
	before := s.tree.Len()
	leaf := s.tree.LeafID()
	old := s.log
	if !s.grew(ctx, now) {
		// Another file: all is read again, and our place in it is looked up.
		if err := s.reload(ctx, now); err != nil {
			return 0, false, err
		}
		fresh = max(1, s.tree.Len()-before)
	} else {
		var list [][]byte
		for r, err := range w.b.Read(ctx, now, old.Size) {
			if err != nil {
				return 0, false, err
			}
			w.lines++
			list = append(list, bytes.Clone(r.Data))
			w.dec.Decode(dialect.Record{Data: r.Data, Offset: r.Offset, Line: w.lines, Torn: r.Torn})
		}
		w.builder.Finish()
		fresh = s.tree.Len() - before
		if n := len(list) - len(records); n >= 0 && slices.EqualFunc(list[n:], records, bytes.Equal) {
			s.wrote(now)
			s.readTail()
			return fresh - len(records), true, nil
		}
		s.wrote(now)
		s.readTail()
	}
	if leaf != "" && w.opt.Policy != PolicyFollow {
		if err := w.builder.SetLeaf(leaf); err != nil {
			return 0, false, fmt.Errorf("the log was replaced by one without our place in it: %w", err)
		}
	}
	return fresh, false, nil
}

// grew says whether the log is the one we know, with more at its end.
func (s *Session) grew(ctx context.Context, now backend.Log) bool {
	if now.Size < s.log.Size {
		return false
	}
	if s.w.tail == nil {
		return false
	}
	src, err := newSource(ctx, s.w.b, now)
	if err != nil {
		return false
	}
	defer src.Close()
	// What stood at the end when we last looked must stand there still.
	n := int64(len(s.w.tail))
	got, err := src.Bytes(session.Span{Offset: s.log.Size - n, Length: n})
	return err == nil && bytes.Equal(got, s.w.tail)
}
