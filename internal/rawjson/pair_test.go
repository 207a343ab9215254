package rawjson

import (
	"math/rand/v2"
	"testing"
)

// pairSlowly is the specification of Index: it tries one position at a time.
func pairSlowly(p Pair, b []byte, from int) int {
	for i := from; i+p.Distance < len(b); i++ {
		f, s := b[i], b[i+p.Distance]
		if (f == p.First[0] || f == p.First[1]) && (s == p.Second[0] || s == p.Second[1]) {
			return i
		}
	}
	return -1
}

func TestPairIndex(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		b := make([]byte, r.IntN(300))
		kinds := 2 + r.IntN(20)
		for i := range b {
			b[i] = 'a' + byte(r.IntN(kinds))
		}
		one := func() byte { return 'a' + byte(r.IntN(22)) }
		p := Pair{First: [2]byte{one(), one()}, Second: [2]byte{one(), one()}, Distance: r.IntN(12)}
		if r.IntN(3) == 0 {
			p.First[1] = p.First[0]
		}
		from := r.IntN(len(b) + 1)
		want := pairSlowly(p, b, from)
		if got := p.Index(b, from); got != want {
			t.Fatalf("%v in %q from %d: %d, want %d", p, b, from, got, want)
		}
		if from+p.Distance < len(b) {
			if got := p.indexGo(b, from); got != want {
				t.Fatalf("without vectors: %v in %q from %d: %d, want %d", p, b, from, got, want)
			}
		}
	}
}

func BenchmarkPairIndex(b *testing.B) {
	text := make([]byte, 1<<18)
	for i := range text {
		text[i] = "the quick brown fox jumps over it "[i%34]
	}
	p := Pair{First: [2]byte{'q', 'Q'}, Second: [2]byte{'y', 'Y'}, Distance: 3}
	for name, f := range map[string]func([]byte, int) int{"vectors": p.Index, "plain": p.indexGo} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if f(text, 0) >= 0 {
					b.Fatal("found what is not there")
				}
			}
		})
	}
}
