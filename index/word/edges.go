package word

import (
	"encoding/binary"
	"math/bits"
)

// Runs are found by their edges. For 64 bytes at once, a word has a bit for each byte that belongs to a run, and a run begins or ends where
// these bits change. The cost does not depend on the length of runs, which no processor can predict.

// EdgeWindow is how many bytes are searched for edges at once. It is a multiple of 64.
const EdgeWindow = 1 << 10

// Edges are the positions where runs of ASCII letters, digits and bytes of longer characters begin and end, alternately. The first may come
// from the window before, if a run continues.
type Edges [EdgeWindow + 2]int

// Find adds the edges in text[from:to] to the first n, and returns how many there are then. to is the end of the text, where the last run
// ends, or one window after from.
func (e *Edges) Find(text []byte, from, to, n int) int {
	if blocks := (to - from) / 64; blocks > 0 {
		n += findEdges(text[from:to], blocks, from, n&1, e[n:])
		from += 64 * blocks
	}
	if from < to {
		var rest [64]byte // padded with bytes that belong to no run
		copy(rest[:], text[from:])
		n += findEdges(rest[:], 1, from, n&1, e[n:])
	}
	if to == len(text) && n&1 != 0 {
		e[n] = to
		n++
	}
	return n
}

const (
	ones  = 0x0101010101010101
	highs = ones * 0x80
	small = ones * 0x20
)

// findEdges writes to out where runs begin and end in the first blocks of 64 bytes of text, which is at base, and returns how
// many edges there are. inside is 1 if a run continues from before, otherwise 0. There must be room for as many edges as bytes.
func findEdges(text []byte, blocks, base, inside int, out []int) (n int) {
	before := uint64(inside)
	for i := range blocks {
		in := wordBits((*[64]byte)(text[64*i:]))
		change := in ^ (in<<1 | before)
		before = in >> 63
		for ; change != 0; change &= change - 1 {
			out[n] = base + 64*i + bits.TrailingZeros64(change)
			n++
		}
	}
	return n
}

// wordBits has a bit for each byte that is an ASCII letter, a digit, or a part of a longer character.
func wordBits(b *[64]byte) (in uint64) {
	for i := 0; i < 64; i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		// Without the highest bits no sum overflows into the next byte. Each sum sets the highest bit of bytes that reach a
		// bound.
		low := w &^ highs
		letter := low | small
		letters := (letter + ones*(0x80-'a')) &^ (letter + ones*(0x7f-'z'))
		digits := (low + ones*(0x80-'0')) &^ (low + ones*(0x7f-'9'))
		// The product collects the eight highest bits.
		in |= (letters | digits | w) & highs >> 7 * 0x0102040810204080 >> 56 << i
	}
	return in
}
