package store_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/store"
)

// BenchmarkOpen opens a session of 20 MB and computes the context at its leaf, without reading messages.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	path := filepath.Join(dir, "session.jsonl")
	log := gen.Session(gen.Options{Seed: 1, Bytes: 20_000_000, Branches: 4})
	if err := os.WriteFile(path, log, 0o600); err != nil {
		b.Fatal(err)
	}
	s := world.Store(dir)
	ctx := context.Background()
	b.SetBytes(int64(len(log)))
	b.ReportAllocs()
	for b.Loop() {
		sess, err := s.Open(ctx, path, store.OpenOptions{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := sess.Context(ctx, sess.Tree().LeafID(), store.ContextOptions{}); err != nil {
			b.Fatal(err)
		}
		if err := sess.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
