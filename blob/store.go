package blob

import (
	"context"
	"fmt"
	"io"
)

// Reader reads blobs.
type Reader interface {
	// Open opens a blob; ErrNotExist if there is none.
	Open(ctx context.Context, r Ref) (io.ReadCloser, error)
	// Has reports whether there is a blob.
	Has(ctx context.Context, r Ref) (bool, error)
}

// Store reads and writes blobs.
type Store interface {
	Reader
	// Put stores bytes and returns their reference. They are then durable, so that a record may refer to them. It does
	// not write a blob that is already there.
	Put(ctx context.Context, b []byte) (Ref, error)
}

// Get reads a whole blob and checks its hash; ErrCorrupt if that is wrong.
func Get(ctx context.Context, s Reader, r Ref) ([]byte, error) {
	f, err := s.Open(ctx, r)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r, err)
	}
	if Sum(b) != r {
		return nil, fmt.Errorf("%s: %w", r, ErrCorrupt)
	}
	return b, nil
}
