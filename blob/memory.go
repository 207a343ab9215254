package blob

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
)

// Memory keeps blobs in memory, for tests and for sessions that are never stored.
type Memory struct {
	mu    sync.Mutex
	blobs map[Ref][]byte
}

// NewMemory returns an empty Memory.
func NewMemory() *Memory { return &Memory{blobs: map[Ref][]byte{}} }

// Open implements Reader.
func (m *Memory) Open(_ context.Context, r Ref) (io.ReadCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.blobs[r]
	if !ok {
		return nil, fmt.Errorf("%s: %w", r, ErrNotExist)
	}
	return io.NopCloser(bytes.NewReader(b)), nil
}

// Has implements Reader.
func (m *Memory) Has(_ context.Context, r Ref) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.blobs[r]
	return ok, nil
}

// Put implements Store.
func (m *Memory) Put(_ context.Context, b []byte) (Ref, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := Sum(b)
	m.blobs[r] = bytes.Clone(b)
	return r, nil
}
