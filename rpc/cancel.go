package rpc

import (
	"context"
	"encoding/json"
	"reflect"
	"sync/atomic"
)

// cancelMethod is the notification with which a client cancels a request, as in the Language Server Protocol.
const cancelMethod = "$/cancelRequest"

// cancelParams name a request. An id may be a string or a number.
type cancelParams struct {
	ID json.RawMessage `json:"id"`
}

// accepted are the notifications that the server takes, with their parameters, for rpc.discover.
var accepted = []notification{{cancelMethod, "Cancels the request with this id, spelled as in the request. A request that waits is answered at once. One that " +
	"is being carried out ends soon if it only reads, or converts; any other ends as it would have ended. Either way it is answered: with the code " +
	"−32800 if it was cancelled. An id that no request has, or that was answered, is ignored.", reflect.TypeFor[cancelParams]()}}

// The states of a request. One that waits can still be taken out of its queue.
const (
	requestWaits = iota
	requestBegun
	requestTaken
)

// pending is a request that was not answered yet.
type pending struct {
	state atomic.Int32
	// ctx ends when the client cancels the request or the server is told to stop.
	ctx    context.Context
	stop   context.CancelFunc
	finish func(result []byte, err error)
}

// begin reports whether the request may be carried out. It may not if it was cancelled while it waited.
func (p *pending) begin() bool { return p.state.CompareAndSwap(requestWaits, requestBegun) }

// pend notes a request, which finish answers, so that it can be cancelled. Of several requests with one id, the last can be.
func (c *client) pend(id json.RawMessage, finish func(result []byte, err error)) *pending {
	p := &pending{}
	p.ctx, p.stop = context.WithCancel(c.life)
	p.finish = func(result []byte, err error) {
		p.stop()
		if id != nil {
			c.mu.Lock()
			if c.pending[string(id)] == p {
				delete(c.pending, string(id))
			}
			c.mu.Unlock()
		}
		finish(result, err)
	}
	if id != nil {
		c.mu.Lock()
		c.pending[string(id)] = p
		c.mu.Unlock()
	}
	return p
}

// cancel carries out cancelMethod. It is called by the reader of the input, so it overtakes the requests that wait.
func (c *client) cancel(params json.RawMessage) error {
	var in cancelParams
	if err := decode(params, &in, nil); err != nil {
		return err
	}
	c.mu.Lock()
	p := c.pending[string(in.ID)]
	c.mu.Unlock()
	switch {
	case p == nil: // it was answered
	case p.state.CompareAndSwap(requestWaits, requestTaken):
		p.finish(nil, context.Canceled)
	default:
		p.stop()
	}
	return nil
}
