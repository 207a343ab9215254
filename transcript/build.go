package transcript

import (
	"cmp"
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

// builder makes blocks from the entries of a route, in order.
type builder struct {
	*view
	ctx     context.Context
	reader  *wire.Reader
	spender session.Spender
	pieces  pieceOptions

	made    []made
	calls   map[string]callAt // the last call with each id
	results map[string]bool   // calls that have a result
	shown   map[int]int       // position of a result → index of the block with its call
	earlier earlier
	sides   map[int32]string // first texts of side conversations
	model   string           // the model that the last change named
	looked  bool             // the model before the window was looked up
	spent   map[string]int   // name of an amount → index of the block that shows it
	speech  int              // the last answer among the first judged blocks; see lastAnswer
	judged  int
	from    int // position of the first step
	now     int // the current step
	forked  int // positions before it were searched for forks
}

// made is a block with what building needs to know about it.
type made struct {
	Block
	position int
	last     int  // position of the last entry that continued the block
	first    int  // Entry.FirstPiece of an answer
	closed   bool // the next record of the model begins another block
	spent    []session.Spending
	named    map[string]int // name of an amount → its index in spent
	// summaryFollows marks a compaction whose summary may be the next message.
	summaryFollows bool
}

// callAt is the place of a call.
type callAt struct {
	block, piece, call int
	position           int
	time               time.Time
}

// build makes the blocks of steps[lo:hi].
func (v *view) build(ctx context.Context, lo, hi int) (*builder, error) {
	b := &builder{
		view: v, ctx: ctx, reader: v.d.reader(ctx), calls: map[string]callAt{}, results: map[string]bool{}, shown: map[int]int{}, spent: map[string]int{},
		from: int(v.steps[lo]), forked: int(v.steps[lo]), speech: -1,
	}
	b.pieces = pieceOptions{reader: b.reader, most: v.r.MaxText}
	b.spender, _ = v.d.k.t.Codec().EntryCodec.(session.Spender)
	if lo == 0 {
		b.forked = 0
	}
	position := b.from
	for s := lo; s < hi; s++ {
		p := int(v.steps[s])
		b.now = s
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

// named returns the model that was named last, for an answer that does not name one.
func (b *builder) named() (string, error) {
	for p := b.from - 1; p >= 0 && b.model == "" && !b.looked; p-- {
		if b.classAt(p)&model != 0 {
			if err := b.change(p); err != nil {
				return "", err
			}
		}
	}
	b.looked = true
	return b.model, nil
}

// change notes a change of the model.
func (b *builder) change(position int) error {
	body, err := b.entry(position).Body()
	if c, ok := body.(session.ModelChange); err == nil && ok && (c.Role == "default" || c.Role == "") {
		b.model = cmp.Or(c.ModelID, c.Model)
	}
	return context.Cause(b.ctx)
}

// between reads entries that are not shown, since they may name the model or report the usage of an answer.
func (b *builder) between(from, to int) error {
	if b.ctx.Err() != nil {
		return context.Cause(b.ctx)
	}
	answer, classes, idle := -1, b.d.k.class, b.d.idle()
	if b.spender != nil && b.r.Mode == Everything {
		answer = b.lastAnswer()
	}
	// Each branch of a fork is read with the notes before it, which may be most of the log.
	for p, i := range b.route.index[from:max(from, to)] {
		switch c := classes[i]; {
		case c&model != 0:
			if err := b.change(from + p); err != nil {
				return err
			}
		case c&note != 0 && answer >= 0 && !idle[i].Load():
			if b.ctx.Err() != nil {
				return context.Cause(b.ctx)
			}
			if !b.spend(b.entry(from+p), answer) {
				idle[i].Store(true)
			}
		}
	}
	return nil
}

// step makes a block of an entry, or adds the entry to a block.
func (b *builder) step(position int) error {
	e := b.entry(position)
	if b.classAt(position)&model != 0 {
		if err := b.change(position); err != nil {
			return err
		}
	}
	if b.classAt(position)&note != 0 && b.echoes(e) {
		return nil
	}
	b.pieces.images = 0
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

// echoes reports whether a note repeats the text of another entry.
func (b *builder) echoes(e session.Entry) bool {
	echoer, ok := b.d.k.t.Codec().EntryCodec.(session.Echoer)
	if !ok {
		return false
	}
	raw, err := e.Raw()
	return err == nil && echoer.Echoes(e, raw)
}

// unreadable makes a block of an entry whose record cannot be read.
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
	m.Place = b.d.k.cursor(v.Entry)
	m.Time, _ = v.Time.Time()
	m.Label = b.d.k.t.Label(v.ID)
	m.Unseen = kind != Compaction && !b.route.isSeen(int32(v.Index))
	b.made = append(b.made, m)
	return &b.made[len(b.made)-1]
}

// find returns the index of the block that shows the entry at a position, or of the last one before it; -1 if there is none.
func (b *builder) find(position int) int {
	at := sort.Search(len(b.made), func(n int) bool { return b.made[n].position > position }) - 1
	if of, ok := b.shown[position]; ok && (at < 0 || b.made[at].position != position) {
		return of
	}
	return at
}

// markFinal marks the answers that are followed by the user or by nothing.
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

// dropEmpty removes messages that have nothing to show, such as an answer whose text is empty.
func (b *builder) dropEmpty() {
	own := map[session.EntryID]bool{}
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
		to[n] = len(kept)
		own[m.ID] = true
		kept = append(kept, m)
	}
	for n := range kept {
		// An entry whose results belong to several blocks is found at its own block.
		kept[n].Also = slices.DeleteFunc(kept[n].Also, func(id session.EntryID) bool { return own[id] })
	}
	b.made = kept
	for position, n := range b.shown {
		b.shown[position] = to[n]
	}
}

// finish returns the window of made[from:to].
func (b *builder) finish(from, to int) (*Window, error) {
	w := &Window{}
	for n := from; n < to; n++ {
		m := &b.made[n]
		m.Usage = m.sum()
		begin := b.forked
		if n > 0 {
			begin = b.made[n-1].position + 1
		}
		if fork, ok := b.route.forkBefore(begin, m.position); ok {
			f, err := b.d.fork(b.ctx, b.reader, b.d.k.up[fork.branch], fork.branch)
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
		w.First, w.Last, w.Position = w.Blocks[0].Place, w.Blocks[len(w.Blocks)-1].Place, b.made[from].position
	}
	w.Problems = b.reader.Problems
	return w, nil
}
