package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// drained is a transport that reports the end of the input only after the last answer was written. When the input ends, the SDK cancels the
// requests in progress, so a script that writes its requests and closes the pipe would get no answers. A call whose id is that of a call in
// progress, to which the SDK gives no answer, is refused.
type drained struct {
	sdk.Transport
	refuse func(id string, code int, why error) error
}

// Connect implements sdk.Transport.
func (t drained) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &draining{Connection: c, refuse: t.refuse, open: map[jsonrpc.ID]bool{}, answered: make(chan struct{}), closed: make(chan struct{})}, nil
}

type draining struct {
	sdk.Connection
	refuse   func(id string, code int, why error) error
	mu       sync.Mutex
	open     map[jsonrpc.ID]bool // calls that were read and not yet answered
	ended    bool                // the input has ended
	answered chan struct{}       // closed when the input has ended and no call is open
	once     sync.Once
	closed   chan struct{}
}

// Read returns the next message.
func (c *draining) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		m, err := c.Connection.Read(ctx)
		if err != nil {
			c.note(func() { c.ended = true })
			select {
			case <-c.answered:
			case <-c.closed:
			case <-ctx.Done():
			}
			return nil, err
		}
		r, ok := m.(*jsonrpc.Request)
		if !ok || !r.IsCall() {
			return m, nil
		}
		twice := false
		c.note(func() { twice, c.open[r.ID] = c.open[r.ID], true })
		if !twice {
			return m, nil
		}
		// The id continues to belong to the first call.
		if err := c.refuse("null", jsonrpc.CodeInvalidRequest, fmt.Errorf("the id %#v is that of a call that is being answered", r.ID.Raw())); err != nil {
			return nil, err
		}
	}
}

// Write sends a message. Every call gets one response, even a cancelled one. The SDK refuses some calls, such as those before the first
// one, without a code.
func (c *draining) Write(ctx context.Context, m jsonrpc.Message) error {
	if r, ok := m.(*jsonrpc.Response); ok {
		defer c.note(func() { delete(c.open, r.ID) })
		if r.Error != nil && !errors.As(r.Error, new(*jsonrpc.Error)) {
			r.Error = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: r.Error.Error()}
		}
	}
	return c.Connection.Write(ctx, m)
}

// note changes the state of calls.
func (c *draining) note(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.ended && len(c.open) == 0
	if change(); !before && c.ended && len(c.open) == 0 {
		close(c.answered)
	}
}

// Close implements sdk.Connection.
func (c *draining) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Connection.Close()
}
