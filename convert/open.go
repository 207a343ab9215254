package convert

import (
	"slices"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// openCalls are the calls of an entry.
type openCalls struct {
	at  int
	ids []string
}

// noteTools remembers the calls of an answer and the names of their tools: some agents name them only in calls. Providers
// want the results right after the message with the calls, so the last message with calls on the path is the one that
// counts.
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
		c.after[e.Index].calls = openCalls{e.Index, ids}
	}
}

// noResult is the result of a call that has none: no provider accepts a call without one.
const noResult = "[no result: the tool did not finish]"

// missingResult is the result of a call that has none.
func missingResult(id, name string) session.ToolResult {
	return session.ToolResult{CallID: id, Name: name, Parts: dialect.TextParts(noResult), IsError: true}
}

// answerOpen gives an answer without open calls. A call that no entry answers is left out where the agent does not send it
// either; otherwise it gets a result, in a message of its own where the target has such messages.
func (c *crossing) answerOpen(e session.Entry, message []byte, m dialect.NewMessage) ([]dialect.NewMessage, error) {
	open, err := c.openIn(e, m.Parts)
	if err != nil || len(open) == 0 {
		return []dialect.NewMessage{m}, err
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
			results = append(results, missingResult(call.ID, call.Name))
		}
	}
	if c.to.Habits().ResultsInCalls {
		m.Parts = append(slices.Clone(m.Parts), results...)
		return []dialect.NewMessage{m}, nil
	}
	made := dialect.NewMessage{ID: m.ID + "/results", Role: session.RoleTool, Time: m.Time, Parts: results}
	return []dialect.NewMessage{m, made}, nil
}

// openIn gives the calls of a message that no result answers, neither in the message nor on any
// branch after it that is converted.
func (c *crossing) openIn(e session.Entry, parts []session.Part) (open map[string]bool, err error) {
	for _, p := range parts {
		if call, ok := p.(session.ToolCall); ok {
			if open == nil {
				open = map[string]bool{}
			}
			open[call.ID] = true
		}
	}
	_, results := dialect.Results(parts)
	for _, r := range results {
		delete(open, r.CallID)
	}
	// An id means its last entry. From an earlier one with the same id, the way leads back to what was looked at.
	seen := map[int]bool{}
	for next := c.tree.Children(e.ID); len(next) > 0 && len(open) > 0; {
		if err := c.stopped(); err != nil {
			return nil, err
		}
		child := next[len(next)-1]
		next = next[:len(next)-1]
		if seen[child.Index] {
			continue
		}
		seen[child.Index] = true
		if c.asked != nil && !c.asked[child.Index] {
			continue // it is not converted
		}
		if child.Kind == session.KindMessage {
			body, err := child.Body()
			if err != nil {
				return nil, err
			}
			m, _ := body.(session.Message)
			if len(c.from.Codec().ToolCalls(m.JSON)) > 0 {
				continue // results after it answer its calls
			}
			for _, id := range c.from.Codec().ToolResults(m.JSON) {
				delete(open, id)
			}
		}
		next = append(next, c.tree.Children(child.ID)...)
	}
	return open, nil
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
