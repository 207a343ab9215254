package word

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// Seeds keep the kinds of keys apart.
const (
	seedWord   uint64 = 0xc2b2ae3d27d4eb4f
	seedGram   uint64 = 0x165667b19e3779f9
	seedSingle uint64 = 0xd6e8feb86659fd93
	seedPair   uint64 = 0xa0761d6478bd642f
	seedPhrase uint64 = 0xe7037ed1a0b428db
	seedLong   uint64 = 0x589965cc75374cc3
)

// Keys are the same on every machine. Signatures on disk contain them: a change here needs a new version of signatures.

// Key returns the key of a folded word.
func Key(folded []byte) uint64 { return Hash(folded, seedWord) }

// GramKey returns the key of a trigram of folded word characters.
func GramKey(a, b, c rune) uint64 {
	if g, ok := ASCIIGram(a, b, c); ok {
		return ASCIIGramKey(g)
	}
	return WideGramKey(a, b, c)
}

// WideGramKey is GramKey for a trigram that is not all ASCII.
func WideGramKey(a, b, c rune) uint64 { return Mix(uint64(a)<<42|uint64(b)<<21|uint64(c), seedGram) }

// ASCIIGramKey is GramKey for the number of an ASCII trigram.
func ASCIIGramKey(g int) uint64 { return Mix(uint64(g), seedGram^seedPair) }

// SingleKey returns the key of a character beyond ASCII that is not a word character.
func SingleKey(r rune) uint64 { return Mix(uint64(r), seedSingle) }

// PairKey returns the key of two such characters beside each other.
func PairKey(a, b rune) uint64 { return Mix(uint64(a)<<21|uint64(b), seedPair) }

// PhraseKey returns the key of two runs with white space between them: the Tail of the first and the Head of the second.
func PhraseKey(tail, head uint64) uint64 { return Mix(Mix(tail, seedPhrase), head) }

// Long is how many characters of a run LongKey stands for.
const Long = 5

// LongKey returns the key of Long folded ASCII letters and digits in a row; the lowest byte of chars is the first. Five characters exclude far
// more than the three trigrams in them, which may come from different words.
func LongKey(chars uint64) uint64 { return Mix(chars, seedLong) }

// Head returns the first three characters of a folded run as a number, which is not 0.
func Head(run []rune) (n uint64) {
	for _, r := range run[:min(3, len(run))] {
		n = n<<21 | uint64(r)
	}
	return n
}

// Tail returns the last three characters of a folded run as a number, which is not 0.
func Tail(run []rune) uint64 { return Head(run[max(0, len(run)-3):]) }

// Ranks is the number of ranks of ASCII word characters, 0 included.
const Ranks = 37

// Bigrams is the first number of bigrams; they follow those of trigrams. All of them fit into 16 bits.
const Bigrams = Ranks * Ranks * Ranks

var ranks = func() (t [128]uint8) {
	for c := 'a'; c <= 'z'; c++ {
		t[c] = uint8(c-'a') + 1
	}
	for c := '0'; c <= '9'; c++ {
		t[c] = uint8(c-'0') + 27
	}
	return t
}()

// Rank numbers the folded ASCII letters and digits from 1.
func Rank(c byte) int { return int(ranks[c&0x7f]) }

// ASCIIGram numbers the trigrams of folded ASCII letters and digits; ok is false for other word characters.
func ASCIIGram(a, b, c rune) (g int, ok bool) {
	if a|b|c >= utf8.RuneSelf {
		return 0, false
	}
	return (int(ranks[a])*Ranks+int(ranks[b]))*Ranks + int(ranks[c]), true
}

// ASCIIBigram numbers the bigrams of folded ASCII letters and digits; ok is false for other word characters.
func ASCIIBigram(a, b rune) (g int, ok bool) {
	if a|b >= utf8.RuneSelf {
		return 0, false
	}
	return int(ranks[a])*Ranks + int(ranks[b]), true
}

// Mix hashes two numbers to one: their 128-bit product, folded. It is not collision-resistant; in the worst case a search
// misses a word of a log that was written to provoke it.
func Mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0x2d358dccaa6c78a5, b^0x8bb84b93962eacc9)
	return hi ^ lo
}

// Hash hashes bytes to a number that is not 0.
func Hash(b []byte, seed uint64) uint64 {
	h := seed ^ uint64(len(b))
	for ; len(b) > 8; b = b[8:] {
		h = Mix(binary.LittleEndian.Uint64(b), h)
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
	return max(Mix(Mix(tail, h), seed), 1)
}
