package rawjson

import (
	"encoding/binary"
	"math/bits"
)

// masks says of 64 bytes, one bit each, which they are.
type masks struct {
	quote   uint64 // "
	slash   uint64 // \
	control uint64 // below U+0020
	u       uint64 // u
	noEsc   uint64 // may not follow a backslash
}

// classifyGo is the portable classify: n blocks of 64 bytes.
func classifyGo(b []byte, out []masks) {
	for k := range out {
		m := &out[k]
		*m = masks{}
		for w := range 8 {
			x := binary.LittleEndian.Uint64(b[k*64+w*8:])
			shift := w * 8
			m.quote |= equal(x, quotes) << shift
			m.slash |= equal(x, slants) << shift
			m.u |= equal(x, ones*'u') << shift
			m.control |= gather(^((x&^highs)+(highs-blanks))&^x&highs) << shift
		}
		m.noEsc = 0
		for s := m.slash; s != 0; s &= s - 1 {
			// Only bytes behind a backslash are ever asked about.
			if i := bits.TrailingZeros64(s) + 1; i < 64 && !escapes[b[k*64+i]] {
				m.noEsc |= 1 << i
			}
		}
		if !escapes[b[k*64]] {
			m.noEsc |= 1
		}
	}
}

// equal has a bit for each byte of x that equals the byte that pattern repeats.
func equal(x, pattern uint64) uint64 {
	x ^= pattern
	return gather(^((x&^highs + ^uint64(highs)) | x | ^uint64(highs)))
}

// gather collects the high bits of eight bytes.
func gather(x uint64) uint64 { return (x >> 7) * 0x0102040810204080 >> 56 }

var escapes = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true, 'u': true}
