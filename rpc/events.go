package rpc

import (
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// event is the notification of something that happens to a session. Session is null for a copy that is about to be made, which
// has no handle yet.
type event struct {
	Session *string          `json:"session"`
	File    *string          `json:"file"`
	Entry   *session.EntryID `json:"entryId"`
}

// observer is that of a session whose client wants to be told of events. A notification is written when the event happens, so
// before the answer to the request that caused it: unlike a change of a watch it waits for the client, as the answer does.
// The server's own observer is told first.
func (c *client) observer(o *openSession, own store.Observer) store.Observer {
	return func(e store.Event) {
		if own != nil {
			own(e)
		}
		switch e.Kind {
		case store.EventBeforeCompaction, store.EventCompaction, store.EventBeforeFork, store.EventTree:
		default:
			return
		}
		if line, err := note(string(e.Kind), event{optional(o.handle), optional(e.Path), optional(e.Entry)}); err == nil {
			c.write(line)
		}
	}
}
