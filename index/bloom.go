package index

import "github.com/treeline-dev/treeline/index/word"

// seedBit is the seed of the positions of a key's bits.
const seedBit uint64 = 0x8ebc6af09c88c6e3

// setKey adds a key to a Bloom filter. All bits of a key are in one block, so that a lookup touches one cache line or two and
// one checksum says whether the answer can be trusted; with blocks of 1,024 bits that costs almost no accuracy. The upper half
// of the key selects the block, and each position in it is 10 bits of a second hash.
func setKey(filter []byte, key uint64, probes int) {
	at := blockOf(len(filter), key)
	block := (*[blockSize]byte)(filter[at : at+blockSize])
	for h := word.Mix(key, seedBit); probes > 0; probes-- {
		block[h>>3%blockSize] |= 1 << (h & 7)
		h >>= 10
	}
}

// hasKey reports whether the filter may have a key. A bit that is not set counts only if the checksum of its block is right.
func (c *Kept) hasKey(key uint64, probes int) bool {
	size := len(c.Sig) - twoSize
	if size < blockSize {
		return false
	}
	at := blockOf(size, key)
	block := (*[blockSize]byte)(c.Sig[at : at+blockSize])
	for h := word.Mix(key, seedBit); probes > 0; probes-- {
		if block[h>>3%blockSize]&(1<<(h&7)) == 0 {
			return !c.sound(at)
		}
		h >>= 10
	}
	return true
}

// blockOf returns where the block of a key begins in a filter of that size.
func blockOf(size int, key uint64) int { return int(key>>32*uint64(size/blockSize)>>32) * blockSize }

// Unknown reports whether the signature excludes nothing: it had too many keys, or is of another version.
func (c *Kept) Unknown() bool { return c.Flags&0xf0 != sigVersion || c.Flags&flagAll != 0 }

// HasWord reports whether the chunk may contain the word with that key; see word.Key. The false-positive rate is about 1/64.
func (c *Kept) HasWord(key uint64) bool { return c.hasKey(key, wordProbes) }

// HasGram reports whether the chunk may contain what one of the other keys of package word stands for. The false-positive rate is about
// 1/16.
func (c *Kept) HasGram(key uint64) bool { return c.hasKey(key, gramProbes) }

// HasBigram reports whether the chunk contains the bigram with that number; see word.ASCIIBigram.
func (c *Kept) HasBigram(g int) bool {
	at := len(c.Sig) - twoSize + g>>3
	return at >= 0 && (c.Sig[at]&(1<<(g&7)) != 0 || !c.sound(at))
}
