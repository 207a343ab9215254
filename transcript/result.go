package transcript

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/wire"
)

// answer adds the results of an entry to their calls. more reports whether the entry has other parts, too.
func (b *builder) answer(v wire.View, position int) (more bool, err error) {
	found := false
	for _, p := range v.Parts {
		next := b.pieces.images + images(p)
		if r, ok := p.(session.ToolResult); !ok {
			more = true
		} else if found = true; b.r.Mode != Focused {
			if err := b.result(v, r, position); err != nil {
				return false, err
			}
		}
		b.pieces.images = next
	}
	if found && len(b.made) > 0 {
		b.made[len(b.made)-1].closed = true
	}
	return more, nil
}

// result shows a result with its call. A result is omitted if an earlier window shows its call, and shown alone if its call is not known.
func (b *builder) result(v wire.View, r session.ToolResult, position int) error {
	again := b.results[r.CallID]
	b.results[r.CallID] = true
	if b.attach(v, r, position) {
		return nil
	}
	if b.classAt(position)&byTool != 0 {
		name, waits, err := b.calledBefore(r.CallID, position)
		if err != nil || waits && !again {
			return err
		}
		if r.Name == "" {
			r.Name = name
		}
	}
	m := b.own(position) // an entry has at most one block
	if m == nil {
		m = b.begin(v, position, Message)
		m.Role, m.Speaker = session.RoleTool, session.RoleTool.String()
	}
	t := Tool{CallID: r.CallID, Name: r.Name}
	b.fill(&t, v, r)
	m.addTool(t)
	return nil
}

// own returns the block of the entry at a position, or nil if it has none yet.
func (b *builder) own(position int) *made {
	if n := len(b.made) - 1; n >= 0 && b.made[n].position == position {
		return &b.made[n]
	}
	return nil
}

// addTool adds a call or a result. Consecutive ones form a group.
func (b *Block) addTool(t Tool) (piece, call int) {
	n := len(b.Pieces) - 1
	if n < 0 || !isTools(b.Pieces[n]) {
		b.Pieces = append(b.Pieces, Tools{})
		n++
	}
	group := append(b.Pieces[n].(Tools).Calls, t)
	b.Pieces[n] = Tools{Calls: group}
	return n, len(group) - 1
}

func isTools(p Piece) bool {
	_, ok := p.(Tools)
	return ok
}

// attach adds a result to its call. It returns false if the call is not in the blocks, or has a result.
func (b *builder) attach(v wire.View, r session.ToolResult, position int) bool {
	c, ok := b.calls[r.CallID]
	if !ok || r.CallID == "" {
		return false
	}
	m := &b.made[c.block]
	t := &m.Pieces[c.piece].(Tools).Calls[c.call]
	if t.Answered {
		return false
	}
	b.fill(t, v, r)
	if at, ok := v.Time.Time(); ok && !c.time.IsZero() {
		if took := at.Sub(c.time); took > 0 && took < 24*time.Hour {
			t.Took = took
		}
	}
	b.shown[position] = c.block
	if v.ID != m.ID && (len(m.Also) == 0 || m.Also[len(m.Also)-1] != v.ID) {
		m.Also = append(m.Also, v.ID)
	}
	return true
}

func (b *builder) fill(t *Tool, v wire.View, r session.ToolResult) {
	t.Result, t.Answered, t.Failed = v.ID, true, r.IsError
	if t.Name == "" {
		t.Name = r.Name
	}
	t.Output = b.pieces.output(v.ID, r.Parts)
	if r.Session != "" && t.Child == nil {
		t.Child = b.d.child(r.Session)
	}
}

// reach is the largest distance, in entries, between a call and its result in different windows.
const reach = 256

// earlier is what was read of the route before a window.
type earlier struct {
	to      int // position down to which it was read
	calls   map[string]earlierCall
	results map[string]bool // calls that have a result
}

type earlierCall struct {
	name     string
	position int
	waits    bool // no result follows the call before the window
}

// calledBefore finds the name of the tool in a call before the window. waits reports that no result follows the call there. It looks as far
// back as lookAhead looks ahead, so that a result is in exactly one of two windows.
func (b *builder) calledBefore(id string, position int) (name string, waits bool, err error) {
	e := &b.earlier
	if e.calls == nil {
		*e = earlier{to: b.from, calls: map[string]earlierCall{}, results: map[string]bool{}}
	}
	last := max(position-reach, 0)
	for e.to > last {
		if _, ok := e.calls[id]; ok {
			break
		}
		e.to--
		if b.classAt(e.to)&(byModel|byTool) == 0 {
			continue
		}
		v, err := b.reader.Look(b.entry(e.to))
		if err != nil {
			if b.ctx.Err() != nil {
				return "", false, err
			}
			continue
		}
		e.add(v.Parts, e.to)
	}
	c, ok := e.calls[id]
	if !ok || c.position < last {
		return "", false, nil
	}
	return c.name, c.waits, nil
}

// add notes the calls and results of an entry. Later entries were added before.
func (e *earlier) add(parts []session.Part, position int) {
	for _, part := range slices.Backward(parts) {
		switch part := part.(type) {
		case session.ToolCall:
			if _, later := e.calls[part.ID]; !later {
				e.calls[part.ID] = earlierCall{part.Name, position, !e.results[part.ID]}
			}
		case session.ToolResult:
			e.results[part.CallID] = true
		}
	}
}

// lookAhead finds results after the window of calls in the window.
func (b *builder) lookAhead(end int) error {
	last := -1 // position up to which results are searched for
	waiting := 0
	for _, c := range b.calls {
		if t := b.made[c.block].Pieces[c.piece].(Tools).Calls[c.call]; !t.Answered {
			last = max(last, c.position+reach)
			waiting++
		}
	}
	for p := end; p < len(b.route.index) && p <= last && waiting > 0; p++ {
		if b.classAt(p)&(byModel|byTool) == 0 {
			continue
		}
		v, err := b.reader.Look(b.entry(p))
		if err != nil {
			if b.ctx.Err() != nil {
				return err
			}
			continue // the window that shows the entry reports the error
		}
		waiting -= b.waited(v, p)
	}
	return nil
}

// waited adds the results of an entry after the window to calls in the window, and returns how many calls no longer wait. A call whose id
// is used again gets none.
func (b *builder) waited(v wire.View, position int) (n int) {
	b.pieces.images = 0
	for _, part := range v.Parts {
		next := b.pieces.images + images(part)
		switch part := part.(type) {
		case session.ToolCall:
			if c, ok := b.calls[part.ID]; ok && !b.made[c.block].Pieces[c.piece].(Tools).Calls[c.call].Answered {
				n++
			}
			delete(b.calls, part.ID)
		case session.ToolResult:
			if position-b.calls[part.CallID].position <= reach && b.classAt(position)&byTool != 0 && b.attach(v, part, position) {
				n++
			}
		}
		b.pieces.images = next
	}
	return n
}

// compaction fills in the block of a compaction. What the model sees after it is estimated when the block is shown.
func (b *builder) compaction(v wire.View, body session.Compaction, m *made) {
	c := Compacted{Before: int64(max(body.TokensBefore, 0)), Summary: b.pieces.text(v.ID, body.Summary)}
	if body.FirstKept != v.ID {
		c.FirstKept = body.FirstKept
	}
	m.Pieces = []Piece{c}
	m.summaryFollows = body.ReplacesAll && body.FirstKept == "" && !strings.Contains(body.Summary, "\n") && len(body.Summary) < 100
}

// summary makes a message the summary of the compaction before it: some programs write a compaction without a summary, and then the summary
// as a message of the user.
func (b *builder) summary(v wire.View, body session.Message) bool {
	if len(b.made) == 0 || !body.Meta || v.Role != session.RoleUser {
		return false
	}
	m := &b.made[len(b.made)-1]
	if !m.summaryFollows || v.Parent != m.ID {
		return false
	}
	m.summaryFollows = false
	text := firstText(v.Parts)
	if text == "" {
		return false
	}
	c := m.Pieces[0].(Compacted)
	c.Summary = b.pieces.text(v.ID, text)
	m.Pieces[0] = c
	m.Also = append(m.Also, v.ID)
	return true
}

// estimateAfter estimates what the model sees after a compaction.
func (b *builder) estimateAfter(m *made) (err error) {
	if m.Kind != Compaction || len(m.Pieces) == 0 {
		return nil
	}
	c, ok := m.Pieces[0].(Compacted)
	if !ok {
		return nil
	}
	at := m.ID
	if n := len(m.Also); n > 0 { // the message with the summary
		at = m.Also[n-1]
	}
	c.After, err = b.d.estimate(b.ctx, at)
	m.Pieces[0] = c
	return err
}

// mostEstimated is the largest size of the JSON that an estimate reads, and mostEstimates the largest number of estimates of a document:
// each one walks along a path, and a hostile log may consist only of compactions.
const (
	mostEstimated = 8 << 20
	mostEstimates = 256
)

// estimate returns the estimated number of tokens that the model sees at an entry, or 0 if estimating would take too long.
func (d *Document) estimate(ctx context.Context, id session.EntryID) (int64, error) {
	e, ok := d.k.t.Lookup(id)
	if !ok {
		return 0, nil
	}
	if n, ok := recall(d, &d.after, int32(e.Index)); ok {
		return n, nil
	}
	d.mu.Lock()
	d.estimates++
	enough := d.estimates > mostEstimates
	d.mu.Unlock()
	if enough {
		return 0, nil
	}
	c, err := d.s.Context(ctx, id, store.ContextOptions{NoBlobs: true})
	if err != nil {
		return 0, context.Cause(ctx) // the block of a record that cannot be read reports the error
	}
	tokens, size := int64(0), 0
	for m, err := range c.Messages() {
		if err != nil || ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		if size += len(m.JSON); size > mostEstimated {
			tokens = 0
			break
		}
		tokens += session.Estimate(d.s.MessageParts(m.JSON))
	}
	remember(d, &d.after, int32(e.Index), tokens)
	return tokens, nil
}
