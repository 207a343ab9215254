package rpc

import (
	"fmt"

	"github.com/treeline-dev/treeline/store"
)

// notify gives the observer of a session whose client wants to be told of events. A notification is written when the event
// happens, so before the answer to the request that caused it. The server's own observer is told first.
func (c *client) notify(o *openSession, own store.Observer) store.Observer {
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
		c.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%s,"params":{"session":%s,"file":%s,"entryId":%s}}`,
			quote(string(e.Kind)), quoteOrNull(o.handle), quoteOrNull(e.Path), quoteOrNull(string(e.Entry))))
	}
}
