package file

import (
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/hexdigits"
)

// tailSize is how many bytes at the end of a log go into its generation: enough for the end of a JSON line with its ids or
// times, and always one read.
const tailSize = 64

// generation tells one content of a file from another: which file, when it changed, and its tail. The time alone is not
// enough, since clocks of file systems move in steps.
type generation struct {
	dev, ino uint64
	nanos    int64
	tail     uint64
	full     bool // tail is known; List leaves it out
}

// The text form is fixed-width lower-case hexadecimal.
const (
	shortWidth = 3 * 16
	fullWidth  = 4 * 16
)

func (g *generation) append(dst []byte) []byte {
	dst = appendHex(appendHex(appendHex(dst, g.dev), g.ino), uint64(g.nanos))
	if g.full {
		dst = appendHex(dst, g.tail)
	}
	return dst
}

// appendHex appends 16 hex digits.
func appendHex(dst []byte, n uint64) []byte {
	high, low := hexdigits.Of(uint32(n>>32)), hexdigits.Of(uint32(n))
	return append(append(dst, high[:]...), low[:]...)
}

// appendGeneration appends the generation of a file as List returns it.
func appendGeneration(dst []byte, i durable.Info) []byte {
	return (&generation{dev: i.Dev, ino: i.Ino, nanos: i.Nanos}).append(dst)
}

// parseGeneration reads a generation; ok is false if it is not one of this package.
func parseGeneration(s string) (g generation, ok bool) {
	var raw [fullWidth / 2]byte
	if len(s) != shortWidth && len(s) != fullWidth {
		return g, false
	}
	if _, err := hex.Decode(raw[:], []byte(s)); err != nil {
		return g, false
	}
	part := func(i int) uint64 { return binary.BigEndian.Uint64(raw[8*i:]) }
	return generation{part(0), part(1), int64(part(2)), part(3), len(s) == fullWidth}, true
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// hashTail detects accidental changes, not attacks.
func hashTail(tail []byte) uint64 { return uint64(crc32.Checksum(tail, castagnoli)) }

// logOf makes the Log of a file whose tail is not known.
func logOf(name string, i durable.Info) backend.Log {
	return backend.Log{Name: name, Generation: string(appendGeneration(nil, i)), Size: i.Size, Time: time.Unix(0, i.Nanos), Changed: i.Changed}
}

// fullLogOf makes the Log of a file with that tail. It has no Changed, because a later rename would change it.
func fullLogOf(name string, i durable.Info, tail []byte) backend.Log {
	var room [fullWidth]byte
	g := generation{dev: i.Dev, ino: i.Ino, nanos: i.Nanos, tail: hashTail(tail), full: true}
	return backend.Log{Name: name, Generation: string(g.append(room[:0])), Size: i.Size, Time: time.Unix(0, i.Nanos)}
}
