package file

import (
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
	putHex(out[0:], g.dev)
	putHex(out[partWidth:], g.ino)
	putHex(out[2*partWidth:], uint64(g.nanos))
	if !g.full {
		return string(out[:shortWidth])
	}
	putHex(out[shortWidth:], g.tail)
	return string(out[:])
}

func putHex(out []byte, v uint64) {
	for i := partWidth - 1; i >= 0; i-- {
		out[i] = "0123456789abcdef"[v&15]
		v >>= 4
	}
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

// hashTail is FNV-1a. It guards against accidents, not against somebody who wants to be mistaken.
func hashTail(tail []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range tail {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}

// logOf makes the Log of a file whose tail was not looked at.
func logOf(name string, i durable.Info) backend.Log {
	g := generation{dev: i.Dev, ino: i.Ino, nanos: i.Nanos}
	return backend.Log{Name: name, Generation: g.String(), Size: i.Size, Time: time.Unix(0, i.Nanos)}
}

// fullLogOf makes the Log of a file that ends in tail.
func fullLogOf(name string, i durable.Info, tail []byte) backend.Log {
	g := generation{dev: i.Dev, ino: i.Ino, nanos: i.Nanos, tail: hashTail(tail), full: true}
	return backend.Log{Name: name, Generation: g.String(), Size: i.Size, Time: time.Unix(0, i.Nanos)}
}
