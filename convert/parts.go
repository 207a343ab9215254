package convert

import (
	"fmt"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// partsOf gives what is inside an entry, images included.
func (c *crossing) partsOf(e session.Entry, raw []byte) ([]session.Part, error) {
	resolved, err := c.resolve(raw)
	if err != nil {
		return nil, err
	}
	return c.from.Codec().Parts(e, resolved)
}

// messageID stands for the message of an entry, wherever in the log the entry stands. It is made of ids alone, so that
// converting the same session again gives the same.
func (c *crossing) messageID(e session.Entry) string {
	id := fmt.Sprintf("%s/%s", c.tree.Header().ID, e.ID)
	if last, ok := c.tree.Lookup(e.ID); ok && last.Index != e.Index {
		id += fmt.Sprintf("/%d", e.Index) // another one has the same id
	}
	return id
}

// parts takes a message apart.
func (c *crossing) parts(message []byte) []session.Part {
	d, ok := c.from.(dialect.Parter)
	if !ok {
		return nil
	}
	return d.MessageParts(message)
}

// neutral gives a message in words that are no agent's own. One of a role that only its agent knows is taken as the model
// sees it; ok is false where the model does not.
func (c *crossing) neutral(e session.Entry, m session.Message, message []byte, n dialect.NewEntry) (dialect.NewMessage, bool) {
	out := dialect.NewMessage{
		ID: c.messageID(e), Role: m.Role, Meta: m.Meta, Time: n.Time,
		Provider: m.Provider, Model: m.Model, Stop: dialect.StopOf(m.Stop), Error: m.Error, Usage: m.Usage,
	}
	if at, ok := m.Time.Time(); ok {
		// To the microsecond, 1000 nanoseconds: see crossing.begin.
		out.Time = at.Round(1000)
	}
	if m.Role == session.RoleAssistant && m.Model == "" {
		out.Provider, out.Model = c.models[e.Index].Provider, c.models[e.Index].Model
	}
	if m.Role == session.RoleOther || m.Role == session.RoleNone {
		seen, err := c.from.Codec().LLM(message)
		if err != nil || seen == nil {
			return out, false
		}
		message, out.Role = seen, c.from.Codec().Role(seen)
	}
	out.Parts = c.parts(message)
	c.noteTools(out.Parts)
	for i, part := range out.Parts {
		// Some formats name the tool in the call alone, others need the name in the result.
		if r, ok := part.(session.ToolResult); ok && r.Name == "" {
			r.Name = c.tools[r.CallID]
			out.Parts[i] = r
		}
	}
	return out, true
}
