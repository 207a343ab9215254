package backend_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/memory"
)

// short is a Backend whose logs end before they should.
type short struct{ *memory.Backend }

func (short) Open(context.Context, backend.Log) (backend.Reader, error) {
	return backend.NewReader([]byte("short")), nil
}

// An impossible size is an error and does not end the program.
func TestReadAllPromised(t *testing.T) {
	t.Parallel()
	for _, size := range []int64{6, 1 << 62} {
		if _, err := backend.ReadAll(t.Context(), short{memory.New()}, backend.Log{Name: "a.jsonl", Generation: "1", Size: size}); !errors.Is(err, backend.ErrChanged) && !errors.Is(err, io.EOF) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}
