package word

import (
	"math/rand/v2"
	"testing"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/internal/difftest"
)

// TestEdges compares the edges of random texts, of all lengths around blocks and windows, with a check of each byte.
func TestEdges(t *testing.T) {
	t.Parallel()
	// Has the neighbours of all ranges.
	const bytes = "azAZ09 `{@[/:\x00\x7f\x80\xff\n"
	rnd := rand.New(rand.NewPCG(1, 2))
	for length := range 3 * EdgeWindow {
		text := make([]byte, length)
		runs := 1 + rnd.IntN(100) // from alternating separators and letters to runs over several windows
		c := byte(' ')
		for i := range text {
			if rnd.IntN(runs) == 0 {
				c = bytes[rnd.IntN(len(bytes))]
			}
			text[i] = c
		}
		var want []int
		inside := false
		for i, c := range text {
			if in := c >= utf8.RuneSelf || ClassOf(c)&ASCII != 0; in != inside {
				want, inside = append(want, i), in
			}
		}
		if inside {
			want = append(want, length)
		}
		if diff := difftest.Diff(want, allEdges(text)); diff != "" {
			t.Fatalf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// allEdges returns the edges of all windows of a text.
func allEdges(text []byte) (list []int) {
	var e Edges
	n := 0
	for from := 0; from < len(text); from += EdgeWindow {
		n = e.Find(text, from, min(from+EdgeWindow, len(text)), n)
		list = append(list, e[:n&^1]...)
		if n&1 != 0 {
			e[0] = e[n-1]
		}
		n &= 1
	}
	return list
}
