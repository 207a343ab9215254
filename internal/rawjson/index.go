package rawjson

import (
	"encoding/binary"
	"math/bits"
)

// An index is the positions, in a part of a text, of the quotes that begin and end strings: those that no backslash escapes.
// It does not know whether a quote is inside a value; the code that walks through the text does. It also checks that every
// byte may occur in a string, and that every escape is valid.
//
// Most of the time of reading is spent here, so it uses vectors where available (index_amd64.s), 64 bytes at a time.

// window is how many bytes are indexed at once, and the size of the index: all of them may be quotes.
const window = 4 << 10

// room is the room for the positions of a window. The vector code writes eight at a time, some of them unused.
const room = window + 8

// indexed is the progress of an index.
type indexed struct {
	to      int  // everything before is done
	trouble bool // a byte may not occur in a string, though it may be outside of one
	high    bool // a byte may be non-ASCII
}

// indexGo is the portable index of b[from:to]: it appends the positions of quotes to out. The last escape may extend beyond
// to. It looks at eight bytes at once, and byte by byte only if one of them is special.
func indexGo(b []byte, from, to int, out []uint32) ([]uint32, indexed) {
	i := from
	for i < to {
		if i+8 <= len(b) {
			m := special(binary.LittleEndian.Uint64(b[i:]))
			if m == 0 {
				i += 8
				continue
			}
			if i += bits.TrailingZeros64(m) >> 3; i >= to {
				break
			}
		}
		switch c := b[i]; {
		case c == '"':
			out = append(out, uint32(i))
		case c == '\\':
			if i+1 >= len(b) || !escapes[b[i+1]] || b[i+1] == 'u' && !hexFollows(b, i+2) {
				return out, indexed{to: i, trouble: true}
			}
			i++ // skip what it escapes; the digits after u are not special
		case c < ' ':
			return out, indexed{to: i, trouble: true}
		}
		i++
	}
	return out, indexed{to: i, high: true} // checking is slower than searching for the few that matter
}

var escapes = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true, 'u': true}

// hexFollows reports whether there are four hex digits at i.
func hexFollows(b []byte, i int) bool {
	return i+4 <= len(b) && isHex(b[i]) && isHex(b[i+1]) && isHex(b[i+2]) && isHex(b[i+3])
}
