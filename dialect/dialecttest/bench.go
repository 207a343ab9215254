package dialecttest

import (
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// BenchmarkDecode measures how long a log in memory takes to become a tree of that many entries.
func BenchmarkDecode(b *testing.B, d dialect.Dialect, log []byte, entries int) {
	b.SetBytes(int64(len(log)))
	for b.Loop() {
		builder := session.NewBuilder("", nil)
		builder.Expect(int64(len(log)))
		if err := dialect.DecodeLog(d.NewDecoder(builder), log); err != nil {
			b.Fatal(err)
		}
		// a decoder that drops entries must not look fast
		if n := builder.Finish().Len(); n != entries {
			b.Fatalf("%d entries, not %d", n, entries)
		}
	}
}
