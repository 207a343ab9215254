package rawjson

import (
	"encoding/binary"
	"math/bits"
)

// An index says where, in a piece of a text, the quotes stand that begin and end strings: those that no backslash escapes.
// Whether they are inside or outside of a value is not asked; who walks through the text sees every byte between strings
// and knows. On the way it is checked that every byte may stand in a string, and every backslash escapes what may be
// escaped.
//
// This is where most of the time of reading goes, so it is done with vectors where there are some (index_amd64.s), 64
// bytes at a time.

// window is how many bytes are indexed at once. All of them may be quotes, so this is also the size of the index.
const window = 4 << 10

// room is for the places of a window. The vector code writes eight at a time, some of them for nothing.
const room = window + 8

// indexed is how far an index has come.
type indexed struct {
	to      int  // all before is done
	trouble bool // something may not stand in a string; it may be outside of one, though
}

// indexGo is the portable index of b[from:to]: it adds the places of quotes to out. The last escape may reach beyond to.
// Eight bytes are looked at in one step; only where one of them is special it goes on byte by byte.
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
			i++ // what it escapes is passed over; behind a u come digits, which are nothing special
		case c < ' ':
			return out, indexed{to: i, trouble: true}
		}
		i++
	}
	return out, indexed{to: i}
}

var escapes = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true, 'u': true}

// hexFollows says whether four hex digits stand at i.
func hexFollows(b []byte, i int) bool {
	return i+4 <= len(b) && isHex(b[i]) && isHex(b[i+1]) && isHex(b[i+2]) && isHex(b[i+3])
}
