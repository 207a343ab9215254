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
	s := newSlide(r, path.message(d.k, cmp.Or(r.After, r.Before, r.Around)))
	s.most, s.large = 4*r.Limit, r.MaxText
	tools := map[string]string{}
	answered := map[string]bool{}
	rows := rows{met: make([]bool, d.k.t.Len()), last: -1}
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
		at := rows.of(m.Entry)
		s.put(at, len(m.JSON), func() Block { return d.modelBlock(path, at, m, parts, tokens, &pieces) })
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
	// Messages that the agent makes up have no place.
	for i := len(w.Blocks) - 1; i >= 0; i-- {
		if at := w.Blocks[i].Place; at != "" {
			w.First, w.Last = at, cmp.Or(w.Last, at)
		}
	}
	w.Problems = append(w.Problems, reader.Problems...)
	return w, nil
}

// modelBlock makes a block of a message of a context. A message that the agent makes up when it resumes has no entry.
func (d *Document) modelBlock(path *route, at row, m session.ContextMessage, parts []session.Part, tokens int64, o *pieceOptions) Block {
	b := Block{Kind: Message, ID: m.Entry.ID, Parent: m.Entry.Parent, Native: m.Entry.Type, Estimate: tokens, Meta: m.Entry.ID == ""}
	b.Role = d.k.t.Codec().Role(m.JSON)
	b.Speaker = b.Role.String()
	if k := m.Entry.Kind; b.Role == session.RoleOther && (k == session.KindCompaction || k == session.KindBranchSummary) {
		b.Speaker = "summary"
	}
	if m.Entry.ID != "" {
		b.Place, b.Label = path.place(d.k, m.Entry, at), d.k.t.Label(m.Entry.ID)
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

// row is messages of one entry that follow each other, by the index of the entry and the number of the row. An entry of a log that an agent
// wrote anew may stand for messages between which are those of others.
type row struct {
	entry  int32
	number int
}

// noRow is that of a message without an entry.
var noRow = row{-1, 0}

// rows tells the rows apart.
type rows struct {
	met  []bool // entries by index
	more map[int32]int
	last int32
}

// of gives the row of the next message.
func (r *rows) of(e session.Entry) row {
	i := int32(-1)
	if e.ID != "" {
		i = int32(e.Index)
	}
	again := i != r.last
	if r.last = i; i < 0 {
		return noRow
	}
	if again && r.met[i] {
		if r.more == nil {
			r.more = map[int32]int{}
		}
		r.more[i]++
	}
	r.met[i] = true
	return row{i, r.more[i]}
}

// slide keeps the blocks of a window while all pass by.
type slide struct {
	blocks  []held
	total   int
	dropped int  // blocks that came before the window
	missed  bool // blocks came after it
	after   int  // blocks that are still wanted; negative: all
	before  int  // blocks that are kept before the anchor
	anchor  row
	skip    bool // the anchor itself is left out
	begun   bool // the anchor was met
	last    row
	most    int // blocks, with those that stay together; see Request.Limit
	large   int // bytes of a message from which on its block, which may be much smaller, is kept in its place; negative: never
}

// held is the block of an entry, which is made when all have passed by: most of them are not in the window.
type held struct {
	row   row
	block func() Block
}

// newSlide begins a window. anchor is the row that the request names.
func newSlide(r Request, anchor row) *slide {
	s := &slide{anchor: anchor, last: noRow}
	switch {
	case r.First:
		s.begun, s.after = true, r.Limit
	case r.After != "":
		s.skip, s.after = true, r.Limit
	case r.Before != "":
		s.skip, s.before = true, r.Limit
	case r.Around != "":
		s.before, s.after = r.Limit/2, r.Limit-r.Limit/2
	default:
		s.before = r.Limit
	}
	return s
}

// put takes the next block, that of a message of some bytes.
func (s *slide) put(at row, bytes int, block func() Block) {
	s.total++
	more := at != noRow && at == s.last
	s.last = at
	if at != noRow && at == s.anchor {
		s.begun = true
		if s.skip {
			if s.before > 0 {
				s.missed = true
			} else {
				s.dropped++
			}
			return
		}
	}
	if !s.begun {
		if s.before == 0 {
			s.dropped++
			return
		}
		s.keep(at, bytes, block)
		s.drop()
		return
	}
	if s.after <= 0 && (!more || s.missed || len(s.blocks) >= s.most) {
		s.missed = true
		return
	}
	s.after--
	s.keep(at, bytes, block)
}

// keep puts a block at the end of the window.
func (s *slide) keep(at row, bytes int, block func() Block) {
	if s.large >= 0 && bytes > s.large {
		made := block()
		block = func() Block { return made }
	}
	s.blocks = append(s.blocks, held{at, block})
}

// drop takes blocks away at the beginning that are too many. Those of one entry go together.
func (s *slide) drop() {
	n := 1
	for n < len(s.blocks) && s.blocks[n].row == s.blocks[0].row && s.blocks[0].row != noRow {
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
