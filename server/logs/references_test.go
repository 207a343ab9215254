package logs

import (
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend/memory"
	"github.com/treeline-dev/treeline/blob"
)

// The cache of a log that refers to very many blobs is bounded, and every answer is right.
func TestManyReferences(t *testing.T) {
	t.Parallel()
	b := memory.New()
	ref := func(n int) blob.Ref { return blob.Ref{byte(n), byte(n >> 8), byte(n >> 16)} }
	var record strings.Builder
	const count = refsMost + 1000
	for n := range count {
		record.WriteString(ref(n).String())
	}
	at, err := b.Create(t.Context(), "a/b/c.jsonl", []byte(record.String()))
	if err != nil {
		t.Fatal(err)
	}
	var r references
	for n, want := range map[int]bool{0: true, count - 1: true, count: false} {
		if has, err := r.among(t.Context(), b, at, ref(n)); has[ref(n)] != want || err != nil {
			t.Errorf("reference %d: %v, %v", n, has, err)
		}
		if kept := len(r.of("a/b/c.jsonl").refs); kept > refsMost+1 {
			t.Errorf("%d references are kept", kept)
		}
	}
}
