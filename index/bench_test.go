package index_test

import (
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/internal/gen"
)

// BenchmarkSigner signs text with the vocabulary of sessions, in pieces as long as most texts are.
func BenchmarkSigner(b *testing.B) {
	log := gen.Session(gen.Options{Seed: 1, Bytes: 4_000_000})
	text := []byte(strings.NewReplacer(`\n`, "\n", `\"`, `"`, `\t`, "\t").Replace(string(log)))
	var s index.Signer
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		s.Reset()
		const piece = 1000
		for at := 0; at < len(text); at += piece {
			s.Add(text[at:min(at+piece, len(text))], int64(at), int64(at+piece))
		}
		s.Finish()
	}
}
