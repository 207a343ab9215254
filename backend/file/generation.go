package file

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/durable"
)

// tailSize is how many bytes at the end of a log go into its generation. Enough to hold the end of a JSON line with its
// ids or times, and never more than one read.
const tailSize = 64

// generation is what tells one content of a file from another: which file, when it was changed, and what it ends in.
// The time alone would not do, since clocks of file systems move in steps; the end alone would not either.
type generation struct {
	dev, ino uint64
	nanos    int64
	tail     uint64
	full     bool // tail is known: List leaves it out
}

// The written form is fixed-width hexadecimal, so that it can be read back and travels through JSON and URLs.
const (
	partWidth  = 16
	shortWidth = 3 * partWidth
	fullWidth  = 4 * partWidth
)

func (g generation) String() string {
	var out [fullWidth]byte
	g.put(out[:])
	if !g.full {
		return string(out[:shortWidth])
	}
	putHex(out[shortWidth:], g.tail)
	return string(out[:])
}

// put writes what is known without the tail.
func (g *generation) put(out []byte) {
	putHex(out[0:], g.dev)
	putHex(out[partWidth:], g.ino)
	putHex(out[2*partWidth:], uint64(g.nanos))
}

// appendGeneration writes the generation of a file as List gives it.
func appendGeneration(dst []byte, i durable.Info) []byte {
	n := len(dst)
	dst = slices.Grow(dst, shortWidth)[:n+shortWidth]
	(&generation{dev: i.Dev, ino: i.Ino, nanos: i.Nanos}).put(dst[n:])
	return dst
}

// putHex writes 16 digits, eight at a time: a loop over digits would be a tenth of the cost of an append.
func putHex(out []byte, v uint64) {
	binary.BigEndian.PutUint64(out, hex8(v>>32))
	binary.BigEndian.PutUint64(out[8:], hex8(v&0xffffffff))
}

// hex8 spreads the eight half-bytes of v over eight bytes and makes each the letter of a digit.
func hex8(v uint64) uint64 {
	v = (v<<16 | v) & 0x0000ffff0000ffff
	v = (v<<8 | v) & 0x00ff00ff00ff00ff
	v = (v<<4 | v) & 0x0f0f0f0f0f0f0f0f
	letters := (v + 0x0606060606060606) >> 4 & 0x0101010101010101 // 1 where the digit is above 9
	return v + 0x3030303030303030 + letters*('a'-'0'-10)
}

// parseGeneration reads a generation back; ok is false for what is not one of ours.
func parseGeneration(s string) (g generation, ok bool) {
	if len(s) != shortWidth && len(s) != fullWidth {
		return g, false
	}
	var parts [4]uint64
	for i := range len(s) {
		var d byte
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			d = c - '0'
		case c >= 'a' && c <= 'f':
			d = c - 'a' + 10
		default:
			return g, false
		}
		parts[i/partWidth] = parts[i/partWidth]<<4 | uint64(d)
	}
	return generation{parts[0], parts[1], int64(parts[2]), parts[3], len(s) == fullWidth}, true
}

// hashTail takes eight bytes at a time: it runs once per append, where FNV, byte by byte, would be felt. It guards against
// accidents, not against somebody who wants to be mistaken.
func hashTail(tail []byte) uint64 {
	const k0, k1 = 0x9e3779b97f4a7c15, 0xd6e8feb86659fd93
	h := k0 ^ uint64(len(tail))
	for ; len(tail) >= 8; tail = tail[8:] {
		h = mix(h^binary.LittleEndian.Uint64(tail), k1)
	}
	var rest [8]byte
	copy(rest[:], tail)
	return mix(h^binary.LittleEndian.Uint64(rest[:]), k0)
}

// mix folds the product of two numbers, so that every bit of one tells in all of the result.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo ^ a
}

// logOf makes the Log of a file whose tail was not looked at.
func logOf(name string, i durable.Info) backend.Log {
	return backend.Log{Name: name, Generation: string(appendGeneration(nil, i)), Size: i.Size, Time: time.Unix(0, i.Nanos)}
}

// fullLogOf makes the Log of a file that ends in tail.
func fullLogOf(name string, i durable.Info, tail []byte) backend.Log {
	g := generation{dev: i.Dev, ino: i.Ino, nanos: i.Nanos, tail: hashTail(tail), full: true}
	return backend.Log{Name: name, Generation: g.String(), Size: i.Size, Time: time.Unix(0, i.Nanos)}
}
