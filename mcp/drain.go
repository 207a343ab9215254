package mcp

import (
	"context"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// drained is a transport that reports the end of the input after the last answer was written. The SDK cancels what is being answered when the
// input ends, so that a script that writes its requests and closes the pipe would get no answers.
type drained struct{ sdk.Transport }

// Connect implements sdk.Transport.
func (t drained) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &draining{Connection: c, open: map[jsonrpc.ID]bool{}, answered: make(chan struct{}), closed: make(chan struct{})}, nil
}

type draining struct {
	sdk.Connection
	mu       sync.Mutex
	open     map[jsonrpc.ID]bool // calls that were read and not answered
	ended    bool                // nothing more is read
	answered chan struct{}       // closed when the input has ended and no call is open
	once     sync.Once
	closed   chan struct{}
}

// Read gives the next message.
func (c *draining) Read(ctx context.Context) (jsonrpc.Message, error) {
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
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
		c.note(func() { c.open[r.ID] = true })
	}
	return m, nil
}

// Write sends a message. Every call gets one response, also a cancelled one.
func (c *draining) Write(ctx context.Context, m jsonrpc.Message) error {
	if r, ok := m.(*jsonrpc.Response); ok {
		defer c.note(func() { delete(c.open, r.ID) })
	}
	return c.Connection.Write(ctx, m)
}

// note changes what is known of calls.
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
