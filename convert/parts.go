package convert

import (
	"fmt"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// partsOf gives the parts of an entry with the content of its blobs.
func (c *crossing) partsOf(e session.Entry, raw []byte) ([]session.Part, error) {
	resolved, err := c.resolve(raw)
	if err != nil {
		return nil, err
	}
	return c.from.Codec().Parts(e, resolved)
}

// messageID identifies the message of an entry. It is made of ids alone, so that converting the session again gives the same.
func (c *crossing) messageID(e session.Entry) string {
	id := fmt.Sprintf("%s/%s", c.tree.Header().ID, e.ID)
	if last, ok := c.tree.Lookup(e.ID); ok && last.Index != e.Index {
		id += fmt.Sprintf("/%d", e.Index) // a later entry has the same id
	}
	return id
}

// parts gives the parts of a message.
func (c *crossing) parts(message []byte) []session.Part {
	d, ok := c.from.(dialect.Parter)
	if !ok {
		return nil
	}
	return d.MessageParts(message)
}

// neutral gives a message in neutral form. A message with a role that only its agent knows is converted as the model sees
// it; ok is false if the model does not see it.
func (c *crossing) neutral(e session.Entry, m session.Message, message []byte, n dialect.NewEntry) (dialect.NewMessage, bool) {
	out := dialect.NewMessage{
		ID: c.messageID(e), Role: m.Role, Meta: m.Meta, Time: n.Time,
		Provider: m.Provider, Model: m.Model, Stop: dialect.StopOf(m.Stop), Error: m.Error, Usage: m.Usage,
	}
	if at, ok := m.Time.Time(); ok {
		out.Time = at.Round(time.Microsecond) // see crossing.begin
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
		// Some formats name the tool only in the call, others need the name in the result.
		if r, ok := part.(session.ToolResult); ok && r.Name == "" {
			r.Name = c.tools[r.CallID]
			out.Parts[i] = r
		}
	}
	return out, true
}
