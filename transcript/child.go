package transcript

import (
	"cmp"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

// children are the sessions of sub-agents.
type children struct {
	byID map[session.ID]Child
	list []Child
}

// SetChildren tells the document which sessions there are, as a list with a catalogue returns them. From then on, Tool.Child and SubAgents
// use those of this session's sub-agents.
func (d *Document) SetChildren(rows []place.Row) {
	path := d.s.Path()
	known := &children{byID: map[session.ID]Child{}}
	parents := place.Parents(rows)
	for i := range rows {
		r, p := &rows[i], parents[i]
		if r.Err != nil || p < 0 || rows[p].Path != path || !r.IsTask() {
			continue
		}
		c := Child{Session: r.ID, Path: r.Path, Title: r.Heading()}
		if k := r.Known; k != nil {
			t := k.Tokens
			c.Entries, c.Tokens, c.Cost = k.Entries, max(t.Total, t.Input+t.Output+t.CacheRead+t.CacheWrite), k.Cost
		}
		if _, again := known.byID[r.ID]; !again {
			known.list = append(known.list, c)
			known.byID[r.ID] = c
		}
	}
	d.children.Store(known)
}

// SubAgents returns the sessions of this session's sub-agents, in the order of SetChildren.
func (d *Document) SubAgents() []Child {
	if known := d.children.Load(); known != nil {
		return known.list
	}
	return nil
}

// child returns the session of the sub-agent that a result names.
func (d *Document) child(id session.ID) *Child {
	if known := d.children.Load(); known != nil {
		if c, ok := known.byID[id]; ok {
			return &c
		}
	}
	return &Child{Session: id}
}

const (
	mostCandidates = 8    // side conversations that are compared with a call
	mostAside      = 5000 // entries of a side conversation that are counted
)

// sideChild finds the side conversation in the same log that a call started: the next one whose first message is a text in the call's
// arguments.
func (b *builder) sideChild(call int, arguments session.Raw) (*Child, error) {
	tried := 0
	for _, first := range b.d.k.sides {
		if int(first) < call {
			continue
		}
		if tried++; tried > mostCandidates {
			break
		}
		text, err := b.sideText(first)
		if err != nil {
			return nil, err
		}
		for _, value := range rawjson.Fields(arguments) {
			if s, ok := rawjson.Unquote(value); ok && s == text && text != "" {
				return b.aside(first, cmp.Or(rawjson.Str(arguments, "description"), screen.OneLine(text, labelWidth)))
			}
		}
	}
	return nil, nil
}

// sideText returns the first text of a side conversation.
func (b *builder) sideText(first int32) (string, error) {
	if s, ok := b.sides[first]; ok {
		return s, nil
	}
	v, err := b.reader.Look(b.d.k.t.At(int(first)))
	if err != nil && b.ctx.Err() != nil {
		return "", err
	}
	if b.sides == nil {
		b.sides = map[int32]string{}
	}
	b.sides[first] = firstText(v.Parts) // "" where it cannot be read
	return b.sides[first], nil
}

// aside sums up a side conversation.
func (b *builder) aside(first int32, title string) (*Child, error) {
	k := b.d.k
	in := map[int32]bool{first: true}
	c := &Child{First: k.id(first), Tip: k.id(first), Title: title}
	m := &made{}
	for i := first; int(i) < k.t.Len() && c.Entries < mostAside; i++ {
		if i != first && (k.class[i]&aside == 0 || !in[int32(k.t.Above(int(i)))]) {
			continue
		}
		in[i] = true
		e := k.t.At(int(i))
		c.Entries, c.Tip = c.Entries+1, e.ID
		if e.Role != session.RoleAssistant {
			continue
		}
		if b.spender != nil {
			b.spendings(e, m.add)
			continue
		}
		v, err := b.reader.Look(e)
		if err != nil && b.ctx.Err() != nil {
			return nil, err
		}
		if body, ok := v.Body.(session.Message); ok && err == nil && body.Usage != nil {
			m.add(session.Spending{Usage: *body.Usage})
		}
	}
	u := m.sum()
	c.Tokens, c.Cost = tokens(u), u.Cost
	return c, nil
}

// tokens returns the number of tokens of an answer, even if the log has no sum.
func tokens(u session.Usage) int64 {
	return max(u.Total, u.Input+u.Output+u.CacheRead+u.CacheWrite)
}
