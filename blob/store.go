package blob

import (
	"context"
	"fmt"
	"io"
)

// Reader gives blobs.
type Reader interface {
	// Open gives the bytes of a blob; ErrNotExist where the store has none of that reference.
	Open(ctx context.Context, r Ref) (io.ReadCloser, error)
	// Has says whether Open would find the blob.
	Has(ctx context.Context, r Ref) (bool, error)
}

// Store gives and keeps blobs.
type Store interface {
	Reader
	// Put keeps these bytes and gives their reference. When it returns they survive a crash of the machine, so that a
	// record that names them can be written. Bytes that are there already are not written again.
	Put(ctx context.Context, b []byte) (Ref, error)
}

// Get reads a blob whole and checks it: ErrCorrupt where its bytes are not those that the reference stands for.
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
