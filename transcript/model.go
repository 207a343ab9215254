package transcript

import (
	"cmp"
	"context"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// modelWindow gives the messages that the model sees at the end of a path, each as a block with an estimate of its tokens.
// Results stand where the model sees them, and not with their calls. All messages are read, for the sum of the estimates; only
// those of the window are in memory, and blocks are made of them.
func (d *Document) modelWindow(ctx context.Context, path *route, r Request) (*Window, error) {
	w := &Window{Leaf: path.leaf}
	reader := d.reader(ctx)
	c, err := d.s.Context(ctx, path.leaf, store.ContextOptions{
		NoBlobs: true, Problem: func(p session.Problem) { w.Problems = append(w.Problems, p) },
	})
	if err != nil {
		return nil, err
	}
	s := newSlide(r)
	s.most, s.large = 4*r.Limit, r.MaxText
	tools := map[string]string{}
	answered := map[string]bool{}
	pieces := pieceOptions{reader: reader, most: r.MaxText}
	for m, err := range c.Messages() {
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return nil, err
		}
		parts := d.s.MessageParts(m.JSON)
		dialect.NameResults(parts, tools)
		for _, p := range parts {
			if t, ok := p.(session.ToolResult); ok {
				answered[t.CallID] = true
			}
		}
		tokens := session.Estimate(parts)
		w.Estimate += tokens
		s.put(m.Entry.ID, len(m.JSON), func() Block { return d.modelBlock(m, parts, tokens, &pieces) })
	}
	w.Earlier, w.Later, w.Total, w.Position = s.dropped > 0, s.missed, s.total, s.dropped
	for _, h := range s.blocks {
		b := h.block()
		w.Blocks = append(w.Blocks, b)
		for _, p := range b.Pieces {
			if t, ok := p.(Tools); ok {
				for k := range t.Calls {
					t.Calls[k].Answered = t.Calls[k].Answered || answered[t.Calls[k].CallID]
				}
			}
		}
	}
	// Messages that the agent makes up have no entry.
	for i := len(w.Blocks) - 1; i >= 0; i-- {
		if id := w.Blocks[i].ID; id != "" {
			w.First, w.Last = id, cmp.Or(w.Last, id)
		}
	}
	w.Problems = append(w.Problems, reader.Problems...)
	return w, nil
}

// modelBlock makes a block of a message of a context. A message that the agent makes up when it resumes has no entry.
func (d *Document) modelBlock(m session.ContextMessage, parts []session.Part, tokens int64, o *pieceOptions) Block {
	b := Block{Kind: Message, ID: m.Entry.ID, Parent: m.Entry.Parent, Native: m.Entry.Type, Estimate: tokens, Meta: m.Entry.ID == ""}
	b.Role = d.k.t.Codec().Role(m.JSON)
	b.Speaker = b.Role.String()
	if k := m.Entry.Kind; b.Role == session.RoleOther && (k == session.KindCompaction || k == session.KindBranchSummary) {
		b.Speaker = "summary"
	}
	if m.Entry.ID != "" {
		b.Label = d.k.t.Label(m.Entry.ID)
		if at, err := m.Entry.Time(); err == nil {
			b.Time, _ = at.Time()
		}
	}
	o.images = 0
	for _, p := range parts {
		var t Tool
		switch p := p.(type) {
		case session.ToolCall:
			t = o.call(m.Entry.ID, p)
		case session.ToolResult:
			t = Tool{
				CallID: p.CallID, Name: p.Name, Result: m.Entry.ID, Answered: true, Failed: p.IsError, Output: o.output(m.Entry.ID, p.Parts),
			}
		default:
			if piece := o.piece(m.Entry.ID, p); piece != nil {
				b.Pieces = append(b.Pieces, piece)
			}
			continue
		}
		b.addTool(t)
	}
	return b
}

// slide keeps the blocks of a window while all pass by.
type slide struct {
	blocks  []held
	total   int
	dropped int  // blocks that came before the window
	missed  bool // blocks came after it
	after   int  // blocks that are still wanted; negative: all
	before  int  // blocks that are kept before the anchor
	anchor  session.EntryID
	skip    bool // the anchor itself is left out
	begun   bool // the anchor was met
	over    bool // the messages of the anchor are over
	last    session.EntryID
	most    int // blocks, with those that stay together; see Request.Limit
	large   int // bytes of a message from which on its block, which may be much smaller, is kept in its place; negative: never
}

// held is the block of an entry, which is made when all have passed by: most of them are not in the window.
type held struct {
	id    session.EntryID
	block func() Block
}

func newSlide(r Request) *slide {
	switch {
	case r.First:
		return &slide{begun: true, over: true, after: r.Limit}
	case r.After != "":
		return &slide{anchor: r.After, skip: true, after: r.Limit}
	case r.Before != "":
		return &slide{anchor: r.Before, skip: true, before: r.Limit}
	case r.Around != "":
		return &slide{anchor: r.Around, before: r.Limit / 2, after: r.Limit - r.Limit/2}
	}
	return &slide{before: r.Limit}
}

// put takes the next block, that of a message of some bytes. Several in a row may come from one entry.
func (s *slide) put(id session.EntryID, bytes int, block func() Block) {
	s.total++
	at := s.anchor != "" && id == s.anchor
	more := id != "" && id == s.last // of the entry before
	s.last = id
	switch {
	case at && !s.over:
		s.begun = true
		if s.skip {
			if s.before > 0 {
				s.missed = true
			} else {
				s.dropped++
			}
			return
		}
	case s.begun:
		s.over = true
	}
	if !s.begun {
		if s.before == 0 {
			s.dropped++
			return
		}
		s.keep(id, bytes, block)
		s.drop()
		return
	}
	if s.after <= 0 && (!more || s.missed || len(s.blocks) >= s.most) {
		s.missed = true
		return
	}
	s.after--
	s.keep(id, bytes, block)
}

// keep puts a block at the end of the window.
func (s *slide) keep(id session.EntryID, bytes int, block func() Block) {
	if s.large >= 0 && bytes > s.large {
		made := block()
		block = func() Block { return made }
	}
	s.blocks = append(s.blocks, held{id, block})
}

// drop takes blocks away at the beginning that are too many. Those of one entry go together.
func (s *slide) drop() {
	n := 1
	for n < len(s.blocks) && s.blocks[n].id == s.blocks[0].id && s.blocks[0].id != "" {
		n++
	}
	switch {
	case len(s.blocks)-n >= s.before:
	case len(s.blocks) > s.most:
		n = 1
	default:
		return
	}
	clear(s.blocks[:n])
	s.blocks, s.dropped = s.blocks[n:], s.dropped+n
}
