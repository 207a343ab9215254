package convert

import (
	"cmp"
	"fmt"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// partsOf returns the parts of an entry with the content of its blobs.
func (c *crossing) partsOf(e session.Entry, raw []byte) ([]session.Part, error) {
	resolved, err := c.resolve(raw)
	if err != nil {
		return nil, err
	}
	return c.from.Codec().Parts(e, resolved)
}

// messageID returns an id for the message of an entry. It is made only of ids, so that a second conversion gives the same one.
func (c *crossing) messageID(e session.Entry) string {
	return fmt.Sprintf("%s/%s", c.tree.Header().ID, c.onlyID(e))
}

// onlyID returns an id that no other entry has. The id of an entry itself may be repeated by a later one.
func (c *crossing) onlyID(e session.Entry) string {
	if last, ok := c.tree.Lookup(e.ID); ok && last.Index != e.Index {
		return fmt.Sprintf("%s/%d", e.ID, e.Index)
	}
	return string(e.ID)
}

// parts returns the parts of a message.
func (c *crossing) parts(message []byte) []session.Part { return messageParts(c.from, message) }

func messageParts(d dialect.Dialect, message []byte) []session.Part {
	if d, ok := d.(dialect.Parter); ok {
		return d.MessageParts(message)
	}
	return nil
}

// neutral returns a message in neutral form, with the parts that a model may see. A message of the user, or with a role that only its agent
// knows, is converted as the agent would send it. ok is false if the agent does not send the message, unless it is a command of the user.
func (c *crossing) neutral(e session.Entry, m session.Message, message []byte, n dialect.NewEntry) (dialect.NewMessage, bool) {
	out := dialect.NewMessage{
		ID: c.messageID(e), Role: m.Role, Meta: m.Meta, Time: n.Time,
		Provider: m.Provider, Model: m.Model, Stop: dialect.StopOf(m.Stop), Error: m.Error, Usage: m.Usage,
	}
	if at, ok := m.Time.Time(); ok {
		out.Time = at.Round(time.Microsecond) // see crossing.begin
	}
	if m.Role == session.RoleAssistant && m.Model == "" {
		out.Provider, out.Model = c.after[e.Index].model.Provider, c.after[e.Index].model.Model
	}
	if ran := c.runModel(); out.Provider == "" && out.Model == ran.Model {
		out.Provider = ran.Provider
	}
	if out.Model != "" && out.Provider == "" {
		out.Provider = cmp.Or(dialect.ProviderOf(out.Model), "unknown")
	}
	if d, ok := c.from.(dialect.Commander); ok {
		if command, ok := d.Command(message); ok {
			out.Command, out.Role = &command, session.RoleUser
		}
	}
	role, message := c.sent(m.Role, message)
	if message == nil {
		return out, out.Command != nil
	}
	if role != m.Role {
		out.Role = role
	}
	parts := c.parts(message)
	if c.ofRun && m.Role == session.RoleAssistant {
		// A response may consist of several messages: thinking, and the answer.
		if all, err := e.Parts(); err == nil {
			parts = all
		}
	}
	out.Parts = c.accepted(e, out.Role, parts)
	if (out.Failed() || out.Stop == dialect.StopFilter) && c.answered(e, out.Parts) {
		out.Stop = dialect.StopTools
	}
	return out, true
}

// answered reports whether a call of a message has a result, in the message itself or on a branch after it. Such an answer did not fail,
// whatever came after it: a program that leaves out failed answers would send results without calls.
func (c *crossing) answered(e session.Entry, parts []session.Part) bool {
	open, err := c.openIn(e, parts)
	return err == nil && len(open) < len(dialect.CallsIn(parts)) // answerOpen tells the error
}

// accepted returns the parts that a provider accepts: no empty texts, no call without an id, no result without its call, and no second
// result of a call. The rest is carried along with the record.
func (c *crossing) accepted(e session.Entry, role session.Role, parts []session.Part) (list []session.Part) {
	c.noteTools(e, role, parts)
	for _, part := range parts {
		switch p := part.(type) {
		case session.Thinking:
			if c.replays {
				continue // such programs send it back, and no provider accepts a signature of another
			}
		case session.ToolCall:
			if p.ID == "" {
				continue
			}
		case session.ToolResult:
			// An answer contains only results of its own calls.
			if role == session.RoleAssistant && c.after[e.Index].calls.at != e.Index || !c.take(e, p.CallID) {
				continue
			}
			// Some formats name the tool only in the call, others need the name in the result.
			if p.Name == "" {
				p.Name = c.tools[p.CallID]
			}
			p.Parts = dialect.Spoken(p.Parts)
			part = p
		}
		list = append(list, part)
	}
	return dialect.Spoken(list)
}
