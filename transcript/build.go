package transcript

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/wire"
)

// builder makes blocks of the entries of a route, in order.
type builder struct {
	*view
	ctx     context.Context
	reader  *wire.Reader
	spender session.Spender
	pieces  pieceOptions

	made    []made
	calls   map[string]callAt // the last call with each id
	results map[string]bool   // calls that have a result
	shown   map[int]int       // position of a result → the block of its call
	model   string            // the model that the last change named
	from    int               // position of the first step
	forked  int               // positions up to which forks were looked at
}

// made is a block and what is known of it besides.
type made struct {
	Block
	position int
	last     int  // position of the last entry that continued it
	first    int  // Entry.FirstPiece of an answer
	closed   bool // the next record of the model begins another block
	spent    []session.Spending
	// summaryFollows: a compaction whose summary may be the next message.
	summaryFollows bool
}

// callAt says where a call is.
type callAt struct {
	block, piece, call int
	position           int
	time               time.Time
}

// build makes the blocks of steps[lo:hi].
func (v *view) build(ctx context.Context, lo, hi int) (*builder, error) {
	b := &builder{
		view: v, ctx: ctx, reader: v.d.reader(ctx), calls: map[string]callAt{}, results: map[string]bool{}, shown: map[int]int{},
		from: int(v.steps[lo]), forked: int(v.steps[lo]),
	}
	b.pieces = pieceOptions{reader: b.reader, most: v.r.MaxText}
	b.spender, _ = v.d.k.t.Codec().EntryCodec.(session.Spender)
	if lo == 0 {
		b.forked = 0
	}
	if err := b.modelBefore(); err != nil {
		return nil, err
	}
	position := b.from
	for s := lo; s < hi; s++ {
		p := int(v.steps[s])
		if err := b.between(position, p); err != nil {
			return nil, err
		}
		if err := b.step(p); err != nil {
			return nil, err
		}
		position = p + 1
	}
	end := len(v.route.index)
	if hi < len(v.steps) {
		end = int(v.steps[hi])
	}
	if err := b.between(position, end); err != nil {
		return nil, err
	}
	if v.r.Mode == Everything {
		if err := b.lookAhead(end); err != nil {
			return nil, err
		}
	}
	b.markFinal()
	b.dropEmpty()
	return b, nil
}

func (b *builder) entry(position int) session.Entry {
	return b.d.k.t.At(int(b.route.index[position]))
}

func (b *builder) classAt(position int) class { return b.d.k.class[b.route.index[position]] }

// modelBefore finds the model that was named last before the first step.
func (b *builder) modelBefore() error {
	for p := b.from - 1; p >= 0; p-- {
		if b.classAt(p)&model != 0 {
			return b.change(p)
		}
	}
	return nil
}

func (b *builder) change(position int) error {
	body, err := b.entry(position).Body()
	if c, ok := body.(session.ModelChange); err == nil && ok && (c.Role == "default" || c.Role == "") {
		b.model = c.ModelID
		if b.model == "" {
			b.model = c.Model
		}
	}
	return context.Cause(b.ctx)
}

// between looks at entries that are not shown: they may name the model, or say what an answer used.
func (b *builder) between(from, to int) error {
	for p := from; p < to; p++ {
		switch c := b.classAt(p); {
		case c&model != 0:
			if err := b.change(p); err != nil {
				return err
			}
		case c&note != 0 && b.spender != nil && len(b.made) > 0 && b.r.Mode == Everything:
			if err := b.spend(b.entry(p), b.lastAnswer()); err != nil {
				return err
			}
		}
	}
	return nil
}

// lastAnswer is the last block of the model, nil where there is none since the last prompt.
func (b *builder) lastAnswer() *made {
	for n := len(b.made) - 1; n >= 0; n-- {
		switch m := &b.made[n]; m.Role {
		case session.RoleAssistant:
			return m
		case session.RoleUser:
			return nil
		}
	}
	return nil
}

// spend notes what an entry says that an answer used.
func (b *builder) spend(e session.Entry, m *made) error {
	if m == nil {
		return nil
	}
	raw, err := e.Raw()
	if err != nil {
		return nil // the block of the entry says so, where it has one
	}
	b.spender.Spent(e, raw, func(s session.Spending) {
		if s.Total {
			return
		}
		for k := range m.spent {
			if old := &m.spent[k]; old.Of == s.Of {
				if s.Usage.Total >= old.Usage.Total {
					*old = s
				}
				return
			}
		}
		m.spent = append(m.spent, s)
	})
	return context.Cause(b.ctx)
}

// step makes a block of an entry, or adds it to one.
func (b *builder) step(position int) error {
	e := b.entry(position)
	if b.classAt(position)&model != 0 {
		if err := b.change(position); err != nil {
			return err
		}
	}
	known := len(b.reader.Problems)
	v, err := b.reader.Look(e)
	if err != nil {
		if b.ctx.Err() != nil {
			return context.Cause(b.ctx)
		}
		b.unreadable(e, position, err)
		return nil
	}
	if v.Hidden() && !b.r.All {
		return nil
	}
	count := len(b.made)
	if err := b.show(v, position); err != nil {
		return err
	}
	if len(b.made) > count {
		b.made[count].Problems = append(b.made[count].Problems, b.reader.Problems[known:]...)
	}
	return nil
}

// unreadable stands for an entry whose record cannot be read.
func (b *builder) unreadable(e session.Entry, position int, err error) {
	var p *session.Problem
	if !errors.As(err, &p) {
		p = &session.Problem{
			File: b.d.k.t.Name(), Line: e.Line, Offset: e.Span.Offset, Kind: session.ProblemUnreadable,
			Message: fmt.Sprintf("entry %s cannot be read: %v", e.ID, err), Advice: "the other entries are shown",
		}
	}
	m := b.begin(wire.View{Entry: e}, position, Opaque)
	m.Problems = append(m.Problems, *p)
	b.reader.Problems = append(b.reader.Problems, *p)
}

// show makes blocks of an entry that was read.
func (b *builder) show(v wire.View, position int) error {
	switch body := v.Body.(type) {
	case session.Message:
		return b.message(v, body, position)
	case session.Compaction:
		b.compaction(v, body, b.begin(v, position, Compaction))
	case session.BranchSummary:
		m := b.begin(v, position, Summary)
		m.Pieces = []Piece{Compacted{Summary: b.pieces.text(v.ID, body.Summary), From: body.From}}
	case session.CustomMessage:
		m := b.begin(v, position, Message)
		m.Speaker, m.Hidden, m.Role = body.Type, !body.Display, session.RoleOther
		return b.content(m, v, position)
	case session.Opaque:
		m := b.begin(v, position, Opaque)
		m.Line = v.Line(lineWidth)
		m.Pieces = []Piece{b.pieces.raw(body.Type, body.JSON)}
	default:
		m := b.begin(v, position, Note)
		m.Line = v.Line(noteWidth)
		m.Speaker = v.Word()
		m.OnlyNote = b.classAt(position)&(note|about) != 0
		if b.r.All {
			return b.content(m, v, position)
		}
	}
	return nil
}

const noteWidth = 100 // columns of a note

// begin adds a block.
func (b *builder) begin(v wire.View, position int, kind Kind) *made {
	m := made{position: position, last: position, first: -1, closed: true}
	m.Kind, m.ID, m.Parent, m.Native, m.Role, m.Speaker = kind, v.ID, v.Parent, v.Type, v.Role, v.Speaker()
	m.Time, _ = v.Time.Time()
	m.Label = b.d.k.t.Label(v.ID)
	m.Unseen = kind != Compaction && !b.route.isSeen(int32(v.Index))
	b.made = append(b.made, m)
	return &b.made[len(b.made)-1]
}

// message adds what was said. Results go to their calls, wherever these stand.
func (b *builder) message(v wire.View, body session.Message, position int) error {
	if v.Role == session.RoleUser || v.Role == session.RoleTool {
		left, err := b.answer(v, position)
		if err != nil {
			return err
		}
		if v.Parts = left; len(left) == 0 && v.Role == session.RoleTool {
			return nil
		}
	}
	if b.summary(v, body) {
		return nil
	}
	if m := b.own(position); m != nil { // results without a call
		return b.content(m, v, position)
	}
	m := b.continued(v, position)
	if m == nil {
		m = b.begin(v, position, Message)
		m.Prompt, m.Meta, m.Hidden = v.Role == session.RoleUser && !body.Meta, body.Meta, v.Hidden()
		m.first = v.FirstPiece()
		if v.Role == session.RoleAssistant {
			m.closed = false
		}
	} else {
		m.Also, m.last = append(m.Also, v.ID), position
		if m.Label == "" {
			m.Label = b.d.k.t.Label(v.ID)
		}
	}
	if v.Role == session.RoleAssistant {
		if err := b.answered(m, v, body); err != nil {
			return err
		}
	}
	return b.content(m, v, position)
}

// answered notes what an answer says about itself. The next record belongs to another answer if this one says how it ended.
func (b *builder) answered(m *made, v wire.View, body session.Message) error {
	if m.Model == "" {
		if m.Model = body.Model; m.Model == "" && body.Error == "" {
			m.Model = b.model
		}
	}
	if body.Stop != "" || body.Usage != nil {
		m.closed = true
	}
	if !ordinary[body.Stop] {
		m.Stop = body.Stop
	}
	if body.Error != "" {
		m.Error = body.Error
	}
	switch {
	case b.spender != nil:
		return b.spend(v.Entry, m)
	case body.Usage != nil:
		m.spent = append(m.spent, session.Spending{Usage: *body.Usage})
	}
	return nil
}

// ordinary are the ways in which an answer ends as it should.
var ordinary = map[string]bool{
	"": true, "stop": true, "toolUse": true, "tool_calls": true, "tool_use": true, "end_turn": true, "stop_sequence": true,
}

// continued gives the block that a record of the model continues, nil for none: another record of the same message, or an
// answer that does not say where it ends. A fork or a result ends it in any case.
func (b *builder) continued(v wire.View, position int) *made {
	if v.Role != session.RoleAssistant || len(b.made) == 0 {
		return nil
	}
	m := &b.made[len(b.made)-1]
	if m.Role != session.RoleAssistant || m.Kind != Message {
		return nil
	}
	if _, forked := b.route.forkBefore(m.position+1, position); forked {
		return nil
	}
	if first := v.FirstPiece(); first != v.Index && first == m.first {
		return m
	}
	if m.closed {
		return nil
	}
	return m
}

// content adds the parts of an entry to the last block, which is m.
func (b *builder) content(m *made, v wire.View, position int) error {
	b.pieces.images = 0
	for _, p := range v.Parts {
		switch p := p.(type) {
		case session.ToolCall:
			if b.r.Mode != Focused {
				if err := b.call(m, v, p, position); err != nil {
					return err
				}
			}
		case session.ToolResult: // in the record of the call
			if err := b.result(v, p, position); err != nil {
				return err
			}
		case session.Thinking:
			if b.r.Mode != Focused && (p.Text != "" || p.Signature != "") {
				m.Pieces = append(m.Pieces, b.pieces.thinking(v.ID, p))
			}
		case session.OpaquePart:
			if p.Type != "error" || m.Error == "" {
				m.Pieces = append(m.Pieces, b.pieces.raw(p.Type, p.JSON))
			}
		default:
			if piece := b.pieces.piece(v.ID, p); piece != nil {
				m.Pieces = append(m.Pieces, piece)
			}
		}
	}
	return nil
}

// call adds a call. Those that follow each other in one answer are a group.
func (b *builder) call(m *made, v wire.View, c session.ToolCall, position int) error {
	t := b.pieces.call(v.ID, c)
	var err error
	if t.Child, err = b.sideChild(v.Index, c.Arguments); err != nil {
		return err
	}
	when, _ := v.Time.Time()
	at := callAt{block: len(b.made) - 1, position: position, time: when}
	at.piece, at.call = m.addTool(t)
	b.calls[c.ID] = at
	delete(b.results, c.ID)
	return nil
}

// find gives the block that shows the entry at a position, or the last one before it; -1 for none.
func (b *builder) find(position int) int {
	at := sort.Search(len(b.made), func(n int) bool { return b.made[n].position > position }) - 1
	if of, ok := b.shown[position]; ok && (at < 0 || b.made[at].position != position) {
		return of
	}
	return at
}

// markFinal marks the answers after which the user speaks next, or nothing comes.
func (b *builder) markFinal() {
	for n := range b.made {
		m := &b.made[n]
		if m.Kind != Message || m.Role != session.RoleAssistant || !m.says() {
			continue
		}
		m.Final = true
		for p := m.last + 1; p < len(b.route.index); p++ {
			if c := b.classAt(p); c&note == 0 && c&(byUser|byModel|byTool) != 0 {
				m.Final = c&byUser != 0
				break
			}
		}
	}
}

// says reports whether a block has a text.
func (m *made) says() bool {
	for _, p := range m.Pieces {
		if t, ok := p.(Text); ok && strings.TrimSpace(t.Text) != "" {
			return true
		}
	}
	return false
}

// dropEmpty drops messages of which nothing is left to show, such as an answer whose text is empty.
func (b *builder) dropEmpty() {
	own := map[session.EntryID]bool{}
	for n := range b.made {
		own[b.made[n].ID] = true
	}
	to := make([]int, len(b.made))
	kept := b.made[:0]
	for n, m := range b.made {
		to[n] = len(kept) - 1
		if m.Kind == Message && len(m.Pieces) == 0 && m.Error == "" && m.Stop == "" && len(m.Problems) == 0 {
			continue
		}
		if b.r.Mode == Focused && m.Kind == Message && m.Role == session.RoleAssistant && !m.Final {
			continue
		}
		// An entry whose results belong to several blocks is found at its own.
		m.Also = slices.DeleteFunc(m.Also, func(id session.EntryID) bool { return own[id] })
		to[n] = len(kept)
		kept = append(kept, m)
	}
	b.made = kept
	for position, n := range b.shown {
		b.shown[position] = to[n]
	}
}

// finish gives the window of made[from:to].
func (b *builder) finish(from, to int) (*Window, error) {
	w := &Window{}
	for n := from; n < to; n++ {
		m := &b.made[n]
		m.Usage = m.sum()
		begin := b.forked
		if n > 0 {
			begin = b.made[n-1].position + 1
		}
		if branch, ok := b.route.forkBefore(begin, m.position); ok {
			f, err := b.d.fork(b.reader, b.d.k.up[branch], branch)
			if err != nil {
				return nil, err
			}
			m.Fork = f
		}
		if err := b.estimateAfter(m); err != nil {
			return nil, err
		}
		w.Blocks = append(w.Blocks, m.Block)
	}
	if len(w.Blocks) > 0 {
		w.First, w.Last, w.Position = w.Blocks[0].ID, w.Blocks[len(w.Blocks)-1].ID, b.made[from].position
	}
	w.Problems = b.reader.Problems
	return w, nil
}

// sum adds up what the records of an answer say that it used.
func (m *made) sum() (u session.Usage) {
	for _, s := range m.spent {
		u.Input += s.Usage.Input
		u.Output += s.Usage.Output
		u.CacheRead += s.Usage.CacheRead
		u.CacheWrite += s.Usage.CacheWrite
		u.Total += s.Usage.Total
		u.Cost += s.Usage.Cost
	}
	return u
}
