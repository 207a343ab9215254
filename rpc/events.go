package rpc

import (
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// observe returns the observer of a session whose client subscribes to events. A notification is written when the event happens, so it
// precedes the answer to the request that caused it. Unlike a change of a watch, it waits for the client, as an answer does. own is called
// first.
func (c *client) observe(o *openSession, own store.Observer) store.Observer {
	return func(e store.Event) {
		if own != nil {
			own(e)
		}
		// A copy that is about to be created has no handle yet.
		happened := sessionEvent{optional(o.handle), optional(e.Path), optional(string(e.Entry)), e.Count, e.Problem}
		if line, err := note(string(e.Kind), happened); err == nil {
			c.write(line)
		}
	}
}

// sessionEvent is an event of a session, which has happened or is about to happen. A member that does not apply is null. Foreign counts the
// entries of other programs.
type sessionEvent struct {
	Session *string          `json:"session"`
	File    *string          `json:"file"`
	EntryID *string          `json:"entryId"`
	Foreign int              `json:"foreign,omitempty"`
	Problem *session.Problem `json:"problem,omitempty"`
}
