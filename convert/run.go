package convert

import (
	"fmt"
	"slices"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// runModel returns the model in the header of a run, and nothing for a session. The answers of a run may not name their model, and never
// name its provider.
func (c *crossing) runModel() session.ModelRef {
	if !c.ofRun {
		return session.ModelRef{}
	}
	model := rawjson.Get(c.tree.Header().Raw, "model")
	return session.ModelRef{Provider: rawjson.Str(model, "provider"), Model: rawjson.Str(model, "name")}
}

// history returns the messages that the model saw before the first message of a run. The log of a run begins with the prompt of that run;
// what was said in earlier runs of the session is only in the requests. System messages are left out: the agent makes them anew for each
// run.
func (c *crossing) history(e session.Entry, asked []byte, pos int, n dialect.NewEntry) ([]dialect.NewMessage, error) {
	if c.recent != nil {
		return nil, nil // it is not the first message
	}
	request, err := c.firstRequest(pos)
	if err != nil {
		return nil, err
	}
	codec := c.from.Codec()
	end := 0 // the message with which the run begins: the user's last one, or the last one that is equal
	found := false
	for i, m := range request {
		if codec.Role(m) != session.RoleUser {
			continue
		}
		same := true
		rawjson.Diff(m, asked, func(string) { same = false })
		if same || !found {
			end, found = i, same
		}
	}
	var list []dialect.NewMessage
	for i, m := range request[:end] {
		role := codec.Role(m)
		parts := c.accepted(e, role, c.parts(m))
		switch {
		case role == session.RoleSystem || !dialect.Speaks(parts):
		case role == session.RoleTool && c.to.Habits().ResultsInCalls:
			for k := len(list) - 1; k >= 0; k-- {
				if list[k].Role == session.RoleAssistant {
					list[k].Parts = append(list[k].Parts, parts...)
					break
				}
			}
		default:
			list = append(list, dialect.NewMessage{ID: fmt.Sprintf("%s/%d", c.messageID(e), i), Role: role, Time: n.Time, Parts: parts})
		}
	}
	return list, nil
}

// prompts converts a request of a run to what the user said in it since the last answer. Everything else in a request has a record of its
// own. It returns nil if the user said nothing.
func (c *crossing) prompts(p *passage, e session.Entry, raw []byte, n dialect.NewEntry) (*passage, error) {
	request, err := c.from.Codec().Messages(e, raw)
	if err != nil {
		return nil, err
	}
	// The program may record a request late, when it already contains the answer.
	begin := len(request)
	for i, m := range request {
		if slices.Contains(c.recent, c.key(m)) {
			begin = i + 1
		}
	}
	var list []dialect.NewMessage
	for i, m := range request[begin:] {
		role := c.from.Codec().Role(m)
		if role == session.RoleAssistant {
			break
		}
		if role != session.RoleUser {
			continue
		}
		if parts := c.accepted(e, role, c.parts(m)); dialect.Speaks(parts) {
			list = append(list, dialect.NewMessage{ID: fmt.Sprintf("%s/%d", c.messageID(e), i), Role: role, Time: n.Time, Parts: parts})
		}
	}
	if len(list) == 0 {
		return nil, nil
	}
	return c.write(p, e, n, list...)
}

// follow notes the last answer of a run and the results of its calls.
func (c *crossing) follow(role session.Role, message []byte) {
	if role != session.RoleTool {
		c.recent = nil
	}
	c.recent = append(c.recent, c.key(message))
}

// key identifies a message in later requests, where a result may be cut.
func (c *crossing) key(m []byte) string {
	codec := c.from.Codec()
	ids := append(codec.ToolCalls(m), codec.ToolResults(m)...)
	if len(ids) > 0 {
		return fmt.Sprintf("%s %q", codec.Role(m), ids)
	}
	return fmt.Sprintf("%s %s", codec.Role(m), dialect.TextOf(c.parts(m)))
}

// firstRequest returns the messages of the first request on the path after an entry.
func (c *crossing) firstRequest(pos int) ([][]byte, error) {
	for _, i := range c.onPath[pos+1:] {
		e := c.tree.At(i)
		if e.Kind != session.KindCustomMessage {
			continue
		}
		raw, err := c.whole(e)
		if err != nil {
			return nil, err
		}
		if list, err := c.from.Codec().Messages(e, raw); len(list) > 0 || err != nil {
			return list, err
		}
	}
	return nil, nil
}
