// Package hexdigits spells numbers as hex digits, eight at a time. Every record that is read may get an id that is made of its position, and
// every append to a file spells a generation, so that the digits are worth it.
package hexdigits

import "encoding/binary"

// Of spells a number.
func Of(n uint32) (digits [8]byte) {
	// All digits are made at once, one in each byte: writing them piece by piece and then copying them would stall the processor.
	x := uint64(n)
	x = (x<<16 | x) & 0x0000ffff_0000ffff
	x = (x<<8 | x) & 0x00ff00ff_00ff00ff
	x = (x<<4 | x) & 0x0f0f0f0f_0f0f0f0f
	const zeros, sixes, ones = 0x30303030_30303030, 0x06060606_06060606, 0x01010101_01010101
	letters := (x + sixes) >> 4 & ones // 1 for a digit above 9
	binary.BigEndian.PutUint64(digits[:], x+zeros+letters*('a'-'9'-1))
	return digits
}
