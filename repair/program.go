package repair

import (
	"bytes"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// mostMends is the largest number of calls of a dialect.Mender. After each change it may find something else.
const mostMends = 8

// mended reports whether the dialect finds what its program would not find.
func (p *planner) mended() bool {
	_, ok := p.t.Codec().EntryCodec.(dialect.Mender)
	return ok
}

// mendForProgram makes the changes that a dialect.Mender requests. The Mender sees the log as the repair would leave it: some programs find
// records that share a line only after they are separated.
func (p *planner) mendForProgram() error {
	if !p.mended() {
		return nil
	}
	p.edits = map[int][]edit{}
	// The repaired log has the new header already.
	for _, m := range p.t.Codec().EntryCodec.(dialect.Mender).Mends(p.t) {
		if m.Header {
			p.take(m)
		}
	}
	for range mostMends {
		preview := *p
		preview.repairs, preview.numbers = nil, nil
		lines, _, err := preview.mendLines()
		if err != nil {
			return err
		}
		t, err := p.decode(lines, preview.numbers)
		if err != nil || t.Len() != p.t.Len()+len(p.tail) {
			return err // verify reports what is wrong
		}
		mender, ok := t.Codec().EntryCodec.(dialect.Mender)
		if !ok {
			return nil
		}
		mends := mender.Mends(t)
		for _, m := range mends {
			p.take(m)
		}
		if len(mends) == 0 {
			break
		}
	}
	return nil
}

// take notes a change.
func (p *planner) take(m dialect.Mend) {
	r := Repair{Kind: m.Kind, Problem: m.Problem, Action: m.Action, Change: m.Edit != nil || len(m.Append) > 0}
	if h := p.t.Header(); m.Header {
		r.Line, r.Offset, r.Change = h.Line, h.Span.Offset, true
	} else if m.Entry < p.t.Len() {
		e := p.t.At(m.Entry)
		r.Line, r.Offset, r.Entry = e.Line, e.Span.Offset, e.ID
		if m.Edit != nil {
			p.edits[m.Entry] = append(p.edits[m.Entry], m.Edit)
		}
	}
	p.tail = append(p.tail, m.Append...)
	p.add(r)
}

// lost returns what the agent's program does not show the model at the leaf.
func lost(t *session.Tree) ([]session.Problem, error) {
	c, err := session.BuildContext(t, t.LeafID(), session.ContextOptions{})
	if err != nil {
		return nil, err
	}
	return c.Problems(), nil
}

// ownOnly reads the log without the logs that it continues: only its own records are repaired.
func (p *planner) ownOnly() (err error) {
	for e := range p.t.Entries() {
		if e.Foreign() {
			p.t, err = p.decode(bytes.Split(p.all, []byte{'\n'}), nil)
			break
		}
	}
	return err
}
