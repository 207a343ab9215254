package codex_test

import (
	"bytes"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/codex"
	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/session"
)

// BenchmarkDecode reads envelopes into a tree; the bytes are in memory.
func BenchmarkDecode(b *testing.B) {
	log := gen.Codex(gen.Session(gen.Options{Seed: 1, Bytes: 20_000_000, Branches: 4}))
	b.SetBytes(int64(len(log)))
	b.ReportAllocs()
	entries := 0
	for b.Loop() {
		builder := session.NewBuilder("bench", nil)
		builder.Expect(int64(len(log)))
		dec := codex.Codex.NewDecoder(builder)
		for at, line := 0, 1; at < len(log); line++ {
			end := at + bytes.IndexByte(log[at:], '\n')
			dec.Decode(dialect.Record{Data: log[at:end], Offset: int64(at), Line: line})
			at = end + 1
		}
		if err := dec.Finish(); err != nil {
			b.Fatal(err)
		}
		entries = builder.Finish().Len()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*entries), "ns/entry")
}
