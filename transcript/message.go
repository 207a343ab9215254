package transcript

import (
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/wire"
)

// message adds a message. Results are added to their calls, wherever these are.
func (b *builder) message(v wire.View, body session.Message, position int) error {
	if v.Role == session.RoleUser || v.Role == session.RoleTool {
		more, err := b.answer(v, position)
		if err != nil || !more && v.Role == session.RoleTool {
			return err
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

// answered notes what an answer in the last block says about itself. If it says how it ended, the next record belongs to another answer.
func (b *builder) answered(m *made, v wire.View, body session.Message) error {
	if m.Model == "" {
		if m.Model = body.Model; m.Model == "" && body.Error == "" {
			var err error
			if m.Model, err = b.named(); err != nil {
				return err
			}
		}
	}
	if body.Stop != "" || body.Usage != nil || body.Error != "" {
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
		b.spend(v.Entry, len(b.made)-1)
	case body.Usage != nil:
		m.add(session.Spending{Usage: *body.Usage})
	}
	return nil
}

// ordinary are the stop reasons of answers that ended normally.
var ordinary = map[string]bool{
	"": true, "stop": true, "toolUse": true, "tool_calls": true, "tool_use": true, "end_turn": true, "stop_sequence": true,
}

// continued returns the block that a record of the model continues, or nil: another record of the same message, or an answer that does not
// say where it ends. A fork or a result always ends a block.
func (b *builder) continued(v wire.View, position int) *made {
	if v.Role != session.RoleAssistant || len(b.made) == 0 {
		return nil
	}
	m := &b.made[len(b.made)-1]
	if m.Role != session.RoleAssistant || m.Kind != Message || b.cut(b.now) {
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
		next := b.pieces.images + images(p)
		switch p := p.(type) {
		case session.ToolCall:
			if b.r.Mode != Focused {
				if err := b.call(m, v, p, position); err != nil {
					return err
				}
			}
		case session.ToolResult:
			if v.Role == session.RoleUser || v.Role == session.RoleTool {
				break // answer has shown it
			}
			if err := b.result(v, p, position); err != nil { // a result in the record of its call
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
			if t, ok := p.(session.Text); ok && m.Error != "" && t.Text == m.Error {
				break // the block ends with the error
			}
			if piece := b.pieces.piece(v.ID, p); piece != nil {
				m.Pieces = append(m.Pieces, piece)
			}
		}
		b.pieces.images = next
	}
	return nil
}

// call adds a call. Consecutive calls of one answer form a group.
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
