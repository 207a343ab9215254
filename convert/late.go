package convert

import (
	"cmp"
	"slices"

	"github.com/treeline-dev/treeline/convert/casting"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// ahead returns the message with the results of the calls that wait for one when an entry says something else; nil if no call waits.
// Providers want all results right after the calls. A result that comes later on this branch is moved. A call without a result gets one
// that says so. If the entry itself makes calls, the results after it answer its own calls.
func (c *crossing) ahead(e session.Entry, waiting openCalls, m dialect.NewMessage) (*dialect.NewMessage, error) {
	if waiting.left == 0 || c.same || c.ofRun || c.to.Habits().ResultsInCalls {
		return nil, nil
	}
	var found map[string]session.ToolResult
	if c.after[e.Index].calls.at != e.Index {
		var err error
		if found, err = c.late(e, waiting); err != nil {
			return nil, err
		}
		c.after[e.Index].calls = openCalls{}
	}
	answer := &dialect.NewMessage{ID: m.ID + "/ahead", Role: session.RoleTool, Time: m.Time}
	for _, id := range waiting.ids() {
		r, ok := found[id]
		if !ok {
			r = casting.Missing(id, c.tools[id])
		}
		answer.Parts = append(answer.Parts, r)
	}
	return answer, nil
}

// late finds the first result of each waiting call after an entry. Results with an origin stay where they are.
func (c *crossing) late(e session.Entry, waiting openCalls) (found map[string]session.ToolResult, err error) {
	found = map[string]session.ToolResult{}
	open := map[string]bool{}
	for _, id := range waiting.ids() {
		open[id] = true
	}
	return found, c.onward(e, func(after session.Entry) (on bool, err error) {
		n := len(open)
		if on, err = c.answer(open, waiting.at, after); err != nil || len(open) == n || c.origins[after.Index] != nil {
			return on && len(open) > 0, err
		}
		raw, err := c.whole(after)
		if err != nil {
			return false, err
		}
		parts, err := c.partsOf(after, raw)
		if err != nil {
			return false, err
		}
		_, results := dialect.Results(parts)
		for _, r := range results {
			if _, ok := found[r.CallID]; !ok {
				r.Parts = dialect.Spoken(r.Parts)
				r.Name = cmp.Or(r.Name, c.tools[r.CallID])
				found[r.CallID] = r
			}
		}
		return len(open) > 0, nil
	})
}

// gatherLate adds the results that come later on the path, after something else, to the message with their calls.
func (c *crossing) gatherLate(e session.Entry, m *dialect.NewMessage) error {
	at := c.tree.At(c.before)
	waiting := c.after[at.Index].calls
	if waiting.left == 0 || waiting.at != e.Index {
		return nil
	}
	found, err := c.late(e, waiting)
	if err != nil {
		return err
	}
	for _, id := range waiting.ids() {
		if r, ok := found[id]; ok {
			c.take(at, id)
			m.Parts = append(m.Parts, r)
		}
	}
	return nil
}

// ends reports whether a branch ends with an entry while calls wait that another branch answers. If a single path is converted, there is no
// other branch.
func (c *crossing) ends(e session.Entry) bool {
	if c.asked != nil || c.after[e.Index].calls.left == 0 {
		return false
	}
	last, ok := c.tree.Lookup(e.ID)
	return ok && last.Index != e.Index || len(c.tree.Children(e.ID)) == 0
}

// silent writes an entry that says nothing in the target: at the end of a branch as the results of waiting calls, otherwise as a custom
// entry.
func (c *crossing) silent(p *passage, e session.Entry, n dialect.NewEntry) (*passage, error) {
	if c.ends(e) {
		ahead, err := c.ahead(e, c.after[e.Index].calls, dialect.NewMessage{ID: c.messageID(e), Time: n.Time})
		if ahead != nil {
			if done, err := c.write(p, e, n, *ahead); done != nil || err != nil {
				return done, err
			}
		} else if err != nil {
			return nil, err
		}
	}
	return c.stand(p, e, n)
}

// inTurn returns the messages of an entry. The results of earlier calls come before the first message that says anything other than
// results. If there is none and a branch ends with the entry, they come last.
func (c *crossing) inTurn(e session.Entry, waiting openCalls, said []dialect.NewMessage) ([]dialect.NewMessage, error) {
	k := slices.IndexFunc(said, func(m dialect.NewMessage) bool {
		return m.Failed() || m.Role == session.RoleAssistant && dialect.Speaks(m.Parts) || m.Role != session.RoleTool && dialect.Speaks(dialect.Prose(m.Parts))
	})
	if k < 0 {
		if k = len(said); k == 0 || !c.ends(e) {
			return said, nil
		}
	}
	ahead, err := c.ahead(e, waiting, said[max(0, k-1)])
	if ahead == nil {
		return said, err
	}
	if k > 0 && said[k-1].Role == session.RoleTool { // results of the message itself
		said[k-1].Parts = append(said[k-1].Parts, ahead.Parts...)
		return said, nil
	}
	return slices.Insert(said, k, *ahead), nil
}

// led writes an entry that is not a message after the results of earlier calls. It returns nil if there are no such results.
func (c *crossing) led(p *passage, e session.Entry, n dialect.NewEntry) (*passage, error) {
	ahead, err := c.ahead(e, c.after[e.Index].calls, dialect.NewMessage{ID: c.messageID(e), Time: n.Time})
	if ahead == nil {
		return nil, err
	}
	messages, err := c.to.Compose(*ahead)
	if err != nil {
		return nil, nil // the target has no such message
	}
	var bodies []session.Body
	for _, j := range messages {
		bodies = append(bodies, session.Message{Role: ahead.Role, JSON: j})
	}
	return c.writeBodies(p, e, n, append(bodies, n.Body))
}
