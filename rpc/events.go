package rpc

import "github.com/treeline-dev/treeline/store"

// observe gives the observer of a session whose client wants to be told of events. A notification is written when the event
// happens, so before the answer to the request that caused it: unlike a change of a watch it waits for the client, as the
// answer does. The server's own observer is told first.
func (c *client) observe(o *openSession, own store.Observer) store.Observer {
	return func(e store.Event) {
		if own != nil {
			own(e)
		}
		switch e.Kind {
		case store.EventBeforeCompaction, store.EventCompaction, store.EventBeforeFork, store.EventTree:
		default:
			return
		}
		// A copy that is about to be made has no handle yet.
		if line, err := note(string(e.Kind), sessionEvent{optional(o.handle), optional(e.Path), optional(string(e.Entry))}); err == nil {
			c.write(line)
		}
	}
}

// sessionEvent is what happens to a session, or is about to happen. A member is null if there is none.
type sessionEvent struct {
	Session *string `json:"session"`
	File    *string `json:"file"`
	EntryID *string `json:"entryId"`
}
