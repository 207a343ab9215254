package mcp

import (
	"context"
	"io"
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
	return &draining{Connection: c, closed: make(chan struct{})}, nil
}

type draining struct {
	sdk.Connection
	open   sync.WaitGroup // calls that were read and not answered
	once   sync.Once
	closed chan struct{}
}

// Read gives the next message.
func (c *draining) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if err != nil {
		answered := make(chan struct{})
		go func() { c.open.Wait(); close(answered) }()
		select {
		case <-answered:
		case <-c.closed:
		case <-ctx.Done():
		}
		return nil, err
	}
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
		c.open.Add(1)
	}
	return m, nil
}

// Write sends a message. Every call gets one response, also a cancelled one.
func (c *draining) Write(ctx context.Context, m jsonrpc.Message) error {
	if _, ok := m.(*jsonrpc.Response); ok {
		defer c.open.Done()
	}
	return c.Connection.Write(ctx, m)
}

// Close implements sdk.Connection.
func (c *draining) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Connection.Close()
}

// keptOpen is a writer that stays open when the connection is closed.
type keptOpen struct{ io.Writer }

// Close implements io.Closer.
func (keptOpen) Close() error { return nil }
