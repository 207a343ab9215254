package transcript

import (
	"cmp"
	"context"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// modelWindow returns the messages that the model sees at the end of a path, each as a block with an estimate of its tokens. Results are
// where the model sees them, and not with their calls. All messages are read, for the sum of the estimates, but only those of the window
// are kept in memory and made into blocks.
func (d *Document) modelWindow(ctx context.Context, path *route, r Request) (*Window, error) {
	w := &Window{Leaf: path.leaf}
	reader := d.reader(ctx)
	c, err := d.s.Context(ctx, path.leaf, store.ContextOptions{
		NoBlobs: true, Problem: func(p session.Problem) { w.Problems = append(w.Problems, p) },
	})
	if err != nil {
		return nil, err
	}
	s := newSlide(r, path.message(d.k, cmp.Or(r.After, r.From, r.Before, r.Around)))
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
	// Messages that the agent makes up have no Place.
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

// row is a group of consecutive messages of one entry: the index of the entry and the number of the group. In a log that an agent rewrote,
// messages of other entries may be between those of one entry.
type row struct {
	entry  int32
	number int
}

// noRow is the row of a message without an entry.
var noRow = row{-1, 0}

// rows numbers the rows of each entry.
type rows struct {
	met  []bool // entries by index
	more map[int32]int
	last int32
}

// of returns the row of the next message.
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

// slide selects the blocks of a window from a sequence of all blocks.
type slide struct {
	blocks  []held
	total   int
	dropped int  // blocks before the window
	missed  bool // there are blocks after the window
	after   int  // blocks that are still needed; negative means all
	before  int  // blocks that are kept before the anchor
	anchor  row
	skip    bool // the anchor itself is left out
	begun   bool // the anchor was reached
	last    row
	most    int // largest number of blocks, including those that stay together; see Request.Limit
	large   int // size of a message, in bytes, from which its block is made at once, since that may be much smaller; negative means never
}

// held is a message whose block is made at the end: most of them are not in the window.
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
	case r.From != "":
		s.after = r.Limit
	case r.Before != "":
		s.skip, s.before = true, r.Limit
	case r.Around != "":
		s.before, s.after = r.Limit/2, r.Limit-r.Limit/2
	default:
		s.before = r.Limit
	}
	return s
}

// put adds the next block, whose message has some bytes.
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

// keep adds a block to the end of the window.
func (s *slide) keep(at row, bytes int, block func() Block) {
	if s.large >= 0 && bytes > s.large {
		made := block()
		block = func() Block { return made }
	}
	s.blocks = append(s.blocks, held{at, block})
}

// drop removes blocks from the beginning if there are too many. The blocks of one row are removed together.
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
