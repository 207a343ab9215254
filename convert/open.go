package convert

import (
	"slices"

	"github.com/treeline-dev/treeline/convert/casting"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// noteTools notes the calls of an answer and the names of their tools, because some agents name tools only in calls. Providers want the
// results right after the message with the calls, so results answer only the last message with calls on the path.
func (c *crossing) noteTools(e session.Entry, role session.Role, parts []session.Part) {
	if role != session.RoleAssistant {
		return
	}
	var ids []string
	for _, part := range parts {
		if call, ok := part.(session.ToolCall); ok && call.ID != "" {
			c.tools[call.ID] = call.Name
			ids = append(ids, call.ID)
		}
	}
	if ids != nil {
		c.after[e.Index].calls = openOf(e.Index, ids)
	}
}

// take reports whether a result in an entry answers a call. Later results cannot answer that call again.
func (c *crossing) take(e session.Entry, id string) bool {
	rest, ok := c.after[e.Index].calls.take(id)
	c.after[e.Index].calls = rest
	return ok
}

// forgets reports whether the model no longer sees the calls of the entry at an index after a compaction.
func (c *crossing) forgets(b session.Compaction, at int) bool {
	kept, ok := c.tree.Lookup(b.FirstKept)
	return !ok || b.ReplacesAll || kept.Index > at
}

// sent returns a message and its role in the form in which it is converted. A message of the user, or with a role that only its agent
// knows, has the form that the agent would send. The message is nil if the agent does not send it.
func (c *crossing) sent(role session.Role, message []byte) (session.Role, []byte) {
	if role != session.RoleUser && role != session.RoleOther && role != session.RoleNone {
		return role, message
	}
	seen, err := c.from.Codec().LLM(message)
	if err != nil || seen == nil {
		return role, nil
	}
	return c.from.Codec().Role(seen), seen
}

// resultsApart moves the results in a message of the user or the system to a message of their own before it. Providers want them there, and
// a message of the user cannot contain a result in other formats.
func (c *crossing) resultsApart(m dialect.NewMessage) []dialect.NewMessage {
	others, results := dialect.Results(m.Parts)
	if len(results) == 0 || m.Role == session.RoleAssistant || m.Role == session.RoleTool || c.to.Habits().ResultsInCalls {
		return []dialect.NewMessage{m}
	}
	answer := dialect.NewMessage{ID: m.ID + "/results", Role: session.RoleTool, Time: m.Time}
	for _, r := range results {
		answer.Parts = append(answer.Parts, r)
	}
	if m.Parts = others; !dialect.Speaks(dialect.Prose(others)) {
		return []dialect.NewMessage{answer}
	}
	return []dialect.NewMessage{answer, m}
}

// answerOpen returns an answer without open calls. A call that no entry answers is left out if the agent does not send it either. Otherwise
// it gets a result, in a separate message if the target has such messages.
func (c *crossing) answerOpen(e session.Entry, message []byte, m dialect.NewMessage) ([]dialect.NewMessage, error) {
	open, err := c.openIn(e, m.Parts)
	if err != nil || len(open) == 0 {
		return []dialect.NewMessage{m}, err
	}
	for id := range open {
		c.take(e, id)
	}
	if c.hidesOpen(message, open) || m.Failed() && c.tree.Rules().DropsFailed {
		m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), func(p session.Part) bool {
			call, ok := p.(session.ToolCall)
			return ok && open[call.ID]
		})
		return []dialect.NewMessage{m}, nil
	}
	if m.Failed() || m.Stop == dialect.StopFilter {
		m.Stop = dialect.StopTools // a program that leaves out failed answers would send results without calls
	}
	var results []session.Part
	for _, p := range m.Parts {
		if call, ok := p.(session.ToolCall); ok && open[call.ID] {
			results = append(results, casting.Missing(call.ID, call.Name))
		}
	}
	if c.to.Habits().ResultsInCalls {
		m.Parts = append(slices.Clone(m.Parts), results...)
		return []dialect.NewMessage{m}, nil
	}
	made := dialect.NewMessage{ID: m.ID + "/results", Role: session.RoleTool, Time: m.Time, Parts: results}
	return []dialect.NewMessage{m, made}, nil
}

// openIn returns the calls of a message that no result answers, neither in the message nor on any converted branch after it. The search
// stops at entries with other calls, so that no entry is visited for two messages.
func (c *crossing) openIn(e session.Entry, parts []session.Part) (open map[string]bool, err error) {
	open = dialect.CallsIn(parts)
	_, results := dialect.Results(parts)
	for _, r := range results {
		delete(open, r.CallID)
	}
	if len(open) == 0 {
		return open, nil
	}
	err = c.onward(e, func(after session.Entry) (bool, error) {
		on, err := c.answer(open, e.Index, after)
		return on && len(open) > 0, err
	})
	return open, err
}

// onward visits the entries after the entry that is converted, in the order in which inherit passes the calls on. visit reports whether to
// continue after an entry.
func (c *crossing) onward(e session.Entry, visit func(after session.Entry) (on bool, err error)) error {
	if c.asked != nil { // there is one path
		for _, i := range c.onPath[c.pos+1:] {
			if on, err := visit(c.tree.At(i)); !on || err != nil {
				return err
			}
		}
		return nil
	}
	for next := []session.Entry{e}; len(next) > 0; {
		at := next[len(next)-1]
		next = next[:len(next)-1]
		if last, ok := c.tree.Lookup(at.ID); ok && last.Index != at.Index {
			continue // an id means its last entry, and what seems to follow this one follows that
		}
		for _, child := range c.tree.Children(at.ID) {
			if child.Index < at.Index {
				continue // it is converted before its parent
			}
			on, err := visit(child)
			if err != nil {
				return err
			}
			if on {
				next = append(next, child)
			}
		}
	}
	return nil
}

// answer removes the calls that an entry answers from the open calls of the earlier entry at an index. on reports whether later entries can
// answer the rest.
func (c *crossing) answer(open map[string]bool, at int, after session.Entry) (on bool, err error) {
	if err := c.stopped(); err != nil {
		return false, err
	}
	if after.Kind != session.KindMessage && after.Kind != session.KindCompaction {
		return true, nil
	}
	body, err := after.Body()
	if err != nil {
		return false, err
	}
	switch b := body.(type) {
	case session.Compaction:
		return !c.forgets(b, at), nil
	case session.Message:
		role, message := c.sent(b.Role, b.JSON)
		if message == nil {
			return true, nil
		}
		codec := c.from.Codec()
		if role == session.RoleAssistant {
			// Results after it answer its calls.
			return !slices.ContainsFunc(codec.ToolCalls(message), func(id string) bool { return id != "" }), nil
		}
		for _, id := range codec.ToolResults(message) {
			delete(open, id)
		}
	}
	return true, nil
}

// hidesOpen reports whether the agent does not send calls without a result.
func (c *crossing) hidesOpen(message []byte, open map[string]bool) bool {
	if rules := c.tree.Rules(); rules.Heals || rules.StripsCalls {
		return true
	}
	sent, err := c.from.Codec().LLM(message)
	return err == nil && !slices.ContainsFunc(c.parts(sent), func(p session.Part) bool {
		call, ok := p.(session.ToolCall)
		return ok && open[call.ID]
	})
}
