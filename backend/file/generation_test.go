package file

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestGeneration(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 1))
	for i := range 1000 {
		// Small and large numbers, and all digits.
		g := generation{rnd.Uint64() >> (i % 64), rnd.Uint64(), int64(rnd.Uint64() >> 1), rnd.Uint64(), i%2 == 0}
		want := fmt.Sprintf("%016x%016x%016x", g.dev, g.ino, g.nanos)
		if g.full {
			want += fmt.Sprintf("%016x", g.tail)
		} else {
			g.tail = 0
		}
		if got := string(g.append(nil)); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
		if back, ok := parseGeneration(string(g.append(nil))); !ok || back != g {
			t.Fatalf("%+v became %+v", g, back)
		}
	}
	for _, bad := range []string{"", "0", want64('g'), "7"} {
		if _, ok := parseGeneration(bad); ok {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func want64(c byte) string { return fmt.Sprintf("%063d%c", 0, c) }

// Tails that differ in one bit, or in length only, have different hashes.
func TestHashTail(t *testing.T) {
	t.Parallel()
	seen := map[uint64]string{}
	add := func(what string, tail []byte) {
		h := hashTail(tail)
		if other, ok := seen[h]; ok {
			t.Errorf("%s and %s have the same hash", what, other)
		}
		seen[h] = what
	}
	for n := range tailSize + 1 {
		add(fmt.Sprintf("%d zeros", n), make([]byte, n))
	}
	for bit := range tailSize * 8 {
		tail := make([]byte, tailSize)
		tail[bit/8] ^= 1 << (bit % 8)
		add(fmt.Sprintf("bit %d", bit), tail)
	}
}
