package index

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// Keys are hashes of what signatures know. They are the same on every machine.

// Seeds keep apart the kinds of hashes.
const (
	spelled uint64 = 0x9e3779b97f4a7c15 // a run as it is spelled; never in a signature
	aWord   uint64 = 0xc2b2ae3d27d4eb4f
	aGram   uint64 = 0x165667b19e3779f9
	aSingle uint64 = 0xd6e8feb86659fd93
	aPair   uint64 = 0xa0761d6478bd642f
	aPhrase uint64 = 0xe7037ed1a0b428db
	aBit    uint64 = 0x8ebc6af09c88c6e3 // where the bits of a key are
)

// Signatures on disk hold these: who changes one changes sigVersion with it.
func wordKey(folded []byte) uint64       { return hashBytes(folded, aWord) }
func gramKey(a, b, c rune) uint64        { return mix(uint64(a)<<42|uint64(b)<<21|uint64(c), aGram) }
func singleKey(r rune) uint64            { return mix(uint64(r), aSingle) }
func pairKey(a, b rune) uint64           { return mix(uint64(a)<<21|uint64(b), aPair) }
func phraseKey(tail, head uint64) uint64 { return mix(mix(tail, aPhrase), head) }
func asciiKey(g int) uint64              { return mix(uint64(g), aGram^aPair) }

// asciiRank numbers the folded letters and digits from 1.
var asciiRank = func() (t [128]uint8) {
	for c := 'a'; c <= 'z'; c++ {
		t[c] = uint8(c-'a') + 1
	}
	for c := '0'; c <= '9'; c++ {
		t[c] = uint8(c-'0') + 27
	}
	return t
}()

// asciiGram numbers the trigrams of folded ASCII letters and digits; ok is false for others.
func asciiGram(a, b, c rune) (g int, ok bool) {
	if a|b|c >= utf8.RuneSelf {
		return 0, false
	}
	// Callers have word characters only, whose ranks begin with 1: so the number of a trigram is never that of a bigram.
	return (int(asciiRank[a])*37+int(asciiRank[b]))*37 + int(asciiRank[c]), true
}

// asciiTwo numbers the bigrams of folded ASCII letters and digits; ok is false for others. The numbers are those of trigrams
// whose first character is none.
func asciiTwo(a, b rune) (g int, ok bool) {
	if a|b >= utf8.RuneSelf {
		return 0, false
	}
	return int(asciiRank[a])*37 + int(asciiRank[b]), true
}

// anyGramKey is the key of a trigram of folded characters.
func anyGramKey(a, b, c rune) uint64 {
	if g, ok := asciiGram(a, b, c); ok {
		return asciiKey(g)
	}
	return gramKey(a, b, c)
}

// setKey and hasKey are the Bloom filter. All bits of a key lie in one block, so that one look at memory tells, and one sum
// says whether it is true: with blocks of a thousand bits that costs next to no accuracy. A key is hashed once: its upper half
// says which block, and the places in there are ten bits each of another number that is made of it.
func setKey(filter []byte, key uint64, probes int) {
	at := blockOf(len(filter), key)
	block := (*[blockSize]byte)(filter[at : at+blockSize])
	for h := mix(key, aBit); probes > 0; probes-- {
		block[h>>3%blockSize] |= 1 << (h & 7)
		h >>= 10
	}
}

func (c *Kept) hasKey(key uint64, probes int) bool {
	size := len(c.Sig) - twoSize
	if size < blockSize {
		return false
	}
	at := blockOf(size, key)
	block := (*[blockSize]byte)(c.Sig[at : at+blockSize])
	for h := mix(key, aBit); probes > 0; probes-- {
		if block[h>>3%blockSize]&(1<<(h&7)) == 0 {
			return !c.sound(at)
		}
		h >>= 10
	}
	return true
}

// blockOf gives where the block of a key begins in a filter of that size.
func blockOf(size int, key uint64) int { return int(key>>32*uint64(size/blockSize)>>32) * blockSize }

// hasTwo says whether a bigram occurs. That its bit is not set counts only where that part of the signature is what was
// written.
func (c *Kept) hasTwo(g int) bool {
	at := len(c.Sig) - twoSize + g>>3
	return at >= 0 && (c.Sig[at]&(1<<(g&7)) != 0 || !c.sound(at))
}

// mix makes of two numbers one in which each bit depends on all of theirs. The product of 128 bits folded to 64 is what
// fast hashes of today do; it does not withstand those who look for collisions. By chance there are none in 64 bits; one
// who writes into a log could hide a word of it from searches, and no more.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0x2d358dccaa6c78a5, b^0x8bb84b93962eacc9)
	return hi ^ lo
}

// hashBytes is a hash that is the same on every machine and never 0.
func hashBytes(b []byte, seed uint64) uint64 {
	h := seed ^ uint64(len(b))
	for ; len(b) > 8; b = b[8:] {
		h = mix(binary.LittleEndian.Uint64(b), h)
	}
	var tail uint64
	switch n := len(b); {
	case n == 8:
		tail = binary.LittleEndian.Uint64(b)
	case n >= 4:
		tail = uint64(binary.LittleEndian.Uint32(b)) | uint64(binary.LittleEndian.Uint32(b[n-4:]))<<32
	case n > 0:
		tail = uint64(b[0]) | uint64(b[n>>1])<<8 | uint64(b[n-1])<<16
	}
	return max(mix(mix(tail, h), seed), 1)
}

// keySet is a set of hashes that are not 0.
type keySet struct {
	slots []uint64
	n     int
}

// has says whether the key is known, if that is to be seen at once; it may be known all the same. It looks at one slot
// only: that answers most questions, and add answers the rest.
func (k *keySet) has(key uint64) bool {
	return len(k.slots) > 0 && k.slots[key&uint64(len(k.slots)-1)] == key
}

// add says whether the key is new.
func (k *keySet) add(key uint64) bool {
	// 0 is an empty slot. That two keys meet in 1 is no likelier than any other collision.
	if key == 0 {
		key = 1
	}
	if 2*k.n >= len(k.slots) {
		k.grow()
	}
	mask := uint64(len(k.slots) - 1)
	for i := key & mask; ; i = (i + 1) & mask {
		switch k.slots[i] {
		case key:
			return false
		case 0:
			k.slots[i] = key
			k.n++
			return true
		}
	}
}

func (k *keySet) grow() {
	old := k.slots
	k.slots = make([]uint64, max(2*len(old), 1<<12))
	mask := uint64(len(k.slots) - 1)
	for _, key := range old {
		if key == 0 {
			continue
		}
		i := key & mask
		for k.slots[i] != 0 {
			i = (i + 1) & mask
		}
		k.slots[i] = key
	}
}

// clear forgets the keys. After a crowd the room that few need is given back: it would be cleared again and again.
func (k *keySet) clear() {
	if k.n < 1<<14 && len(k.slots) > 1<<16 {
		k.slots = nil
	}
	clear(k.slots)
	k.n = 0
}
