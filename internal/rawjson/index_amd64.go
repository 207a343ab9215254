package rawjson

import (
	"math/bits"

	"golang.org/x/sys/cpu"
)

// The assembly needs all four features; a virtual machine may hide any of them.
var haveAVX2 = cpu.X86.HasAVX2 && cpu.X86.HasBMI1 && cpu.X86.HasBMI2 && cpu.X86.HasPOPCNT

// indexer finds the quotes of a text, window by window.
type indexer struct {
	done indexed
	out  [room]uint32
	vec  vectorState
}

// vectorState is the state of indexAVX2 between calls, and its results. The assembly depends on the offsets of the fields.
type vectorState struct {
	escaped uint64 // 1: the next byte is escaped
	control uint64 // not 0: there is a control character
	high    uint64 // not 0: there is a byte that is not ASCII
	odds    int
	odd     [window / 64]oddBlock
}

// oddBlock is 64 bytes in which a backslash escapes something other than one of "\/fnrt.
type oddBlock struct {
	escaped uint64 // a bit for each escaped byte
	place   int    // position of the block
}

// indexAVX2 indexes the n bytes at p, whose position is base, and returns how many quotes it wrote to out. Unless n is a
// multiple of 64, the 64 bytes before p+n must be readable.
//
//go:noescape
func indexAVX2(p *byte, n int, base uint32, out *uint32, s *vectorState) (quotes int)

func (x *indexer) reset() { x.done, x.vec.escaped = indexed{}, 0 }

// next indexes the next window of b.
func (x *indexer) next(b []byte) []uint32 {
	from, to := x.done.to, min(x.done.to+window, len(b))
	if !haveAVX2 {
		var quotes []uint32
		quotes, x.done = indexGo(b, from, to, x.out[:0])
		return quotes
	}
	x.done.to = to
	if len(b) < 64 {
		// Shorter than a block: padded with spaces, which have no effect.
		var block [64]byte
		for i := copy(block[:], b); i < 64; i++ {
			block[i] = ' '
		}
		b, from, to = block[:], 0, 64
	}
	s := &x.vec
	s.odds = 0
	n := indexAVX2(&b[from], to-from, uint32(from), &x.out[0], s)
	x.done.trouble, x.done.high = s.control != 0, x.done.high || s.high != 0
	for _, o := range s.odd[:s.odds] {
		for m := o.escaped; m != 0; m &= m - 1 {
			i := o.place + bits.TrailingZeros64(m)
			if i >= len(b) || b[i] != 'b' && (b[i] != 'u' || !hexFollows(b, i+1)) {
				x.done.trouble = true
			}
		}
	}
	return x.out[:n]
}

// pairAVX2 searches the n positions at p, n being a multiple of 32, for one of the first two bytes with one of the second
// two at the distance. pattern has the four bytes, the first one lowest. It returns the position, or n.
//
//go:noescape
func pairAVX2(p *byte, n, distance int, pattern uint32) (at int)

// indexVector returns the first position, or -1 and how far it searched.
func (p *Pair) indexVector(b []byte, from int) (at, done int) {
	n := (len(b) - p.Distance - from) &^ 31
	if !haveAVX2 || n == 0 {
		return -1, from
	}
	pattern := uint32(p.First[0]) | uint32(p.First[1])<<8 | uint32(p.Second[0])<<16 | uint32(p.Second[1])<<24
	if at = pairAVX2(&b[from], n, p.Distance, pattern); at < n {
		return from + at, 0
	}
	return -1, from + n
}
