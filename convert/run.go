package convert

import (
	"fmt"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// history gives the messages that the model saw before the first message of a run. The log of a run begins with what the
// user asked then; what was said in earlier runs of the session is only in the requests. System messages are left out: they
// belong to the agent, which makes them anew for each run.
func (c *crossing) history(e session.Entry, asked []byte, pos int, n dialect.NewEntry) ([]dialect.NewMessage, error) {
	if _, ok := c.from.(dialect.Runs); !ok || len(c.passages) > 0 {
		return nil, nil
	}
	request, err := c.firstRequest(pos)
	if err != nil {
		return nil, err
	}
	codec := c.from.Codec()
	end := 0 // the message that the run begins with: the last of the user's, or the last that is the same
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
		parts := c.accepted(e, c.parts(m))
		if _, results := dialect.Results(parts); role == session.RoleTool && c.to.Habits().ResultsInCalls && len(list) > 0 {
			last := &list[len(list)-1]
			for _, r := range results {
				last.Parts = append(last.Parts, r)
			}
			continue
		}
		if role == session.RoleSystem || !dialect.Speaks(parts) {
			continue
		}
		list = append(list, dialect.NewMessage{ID: fmt.Sprintf("%s/%d", c.messageID(e), i), Role: role, Time: n.Time, Parts: parts})
	}
	return list, nil
}

// firstRequest gives the messages of the first request on the path after an entry.
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
