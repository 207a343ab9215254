package file

import (
	"context"

	"github.com/treeline-dev/treeline/backend"
)

// Create implements backend.Backend.
func (b *Backend) Create(ctx context.Context, name string, records ...[]byte) (backend.Log, error) {
	return backend.Log{}, backend.ErrReadOnly
}

// Append implements backend.Backend.
func (b *Backend) Append(ctx context.Context, at backend.Log, records ...[]byte) (backend.Log, error) {
	return backend.Log{}, backend.ErrReadOnly
}

// Replace implements backend.Backend.
func (b *Backend) Replace(ctx context.Context, at backend.Log, records ...[]byte) (backend.Log, error) {
	return backend.Log{}, backend.ErrReadOnly
}

// Remove implements backend.Backend.
func (b *Backend) Remove(ctx context.Context, at backend.Log) error { return backend.ErrReadOnly }
