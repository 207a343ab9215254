package index

import (
	"math"
	"math/bits"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/index/word"
)

// A signature says what words may occur in a piece of a log, so that a search need not look into most of them. It is a
// Bloom filter over hashed keys, with a byte of flags beside it; no text can be got out of it. Of what passes by, the keys
// are
//
//   - the words of each run of word characters: every row of neighbouring humps, folded, the whole run among them;
//   - the trigrams of each run, folded, for prefixes, substrings and regular expressions;
//   - for phrases, each pair of runs with only white space between them: the last three characters of the one and the
//     first three of the other, or all where there are fewer; and in their place the humps at these ends that are shorter;
//   - each character of a script without spaces and each symbol beyond ASCII, alone and in pairs of neighbours.
//
// Words are rarer and worth more bits than trigrams, of which a query has several. Behind the filter stands a bit for each
// bigram of ASCII letters and digits, two of which are soon typed: there are so few that it takes less room than hashes of
// those that occur. Which keys a query needs is said in filter.go; both sides share what is in this file and in word.go.
const (
	wordProbes = 6 // one word in 64 is taken for present though it is not
	gramProbes = 4 // one trigram in 16

	// chunkBytes is about how much of a log one signature covers.
	chunkBytes = 64 << 10

	// slabSize is how much room for signatures is made at once.
	slabSize = 256 << 10

	// twoSize is how many bytes the bits of bigrams take.
	twoSize = (word.Ranks*word.Ranks + 7) / 8

	sigVersion = 5 << 4
	// flagAll: there were too many keys to be worth a filter. Anything may be there.
	flagAll  = 1 << 1
	keysMost = 1 << 18
	// flagOdd: a character beyond ASCII that folds to an ASCII letter (the Kelvin sign, the long s) occurs.
	flagOdd = 1 << 0
)

// Chunk is a piece of a log with its signature.
type Chunk struct {
	// From and To are where its records stand in the log: the first one's beginning, the last one's end.
	From, To int64
	// Sig and Flags are opaque to all but Query.May. They hold hashes, no text.
	Sig   []byte
	Flags byte
}

// Odd says whether the chunk may hold characters beyond ASCII that fold to a letter of ASCII.
func (c *Chunk) Odd() bool { return c.Flags&0xf0 != sigVersion || c.Flags&flagOdd != 0 }

// Signer makes the signatures of one log while its text passes by. The zero value is ready; Reset makes it ready for the
// next log and keeps its memory.
type Signer struct {
	chunks []Chunk
	slab   []byte // where signatures go; a full one stays with its chunks, and another begins
	from   int64
	to     int64
	open   bool // there is text since the last chunk

	runs  keySet                          // hashes of runs, as they are spelled
	seen  keySet                          // keys
	words []uint64                        // keys with wordProbes
	grams []uint64                        // keys with gramProbes
	ascii [word.Ranks * word.Ranks]uint64 // which trigrams of ASCII letters and digits there were: for the first two, bits for the third
	two   [word.Ranks]uint64              // and which bigrams, but for those in such trigrams: for the first, bits for the second
	flags byte

	folded []byte
	runes  []rune
	starts []int
	tails  ends // of the run before, as far as they are shorter
	edges  edges
	news   news
	wider  [512 + shortMost + 1]byte // a short text, and something behind it
}

// Reset forgets all chunks.
func (s *Signer) Reset() {
	s.clear()
	clear(s.chunks) // they hold on to slabs
	s.chunks, s.slab = s.chunks[:0], s.slab[:0]
}

// clear forgets the chunk that is being made.
func (s *Signer) clear() {
	s.runs.clear()
	s.seen.clear()
	s.words, s.grams = s.words[:0], s.grams[:0]
	clear(s.ascii[:])
	clear(s.two[:])
	s.flags, s.open = 0, false
}

// Add takes one text of the record at [from, to). Records come in the order of the log, and all texts of one behind each
// other. Nothing of text is kept.
func (s *Signer) Add(text []byte, from, to int64) {
	// Only between records: all texts of one belong to one chunk, because a query's terms may be spread over them.
	if s.open && from >= s.to && from-s.from >= chunkBytes {
		s.cut()
	}
	if !s.open {
		s.from, s.open = from, true
	}
	s.to = to
	if s.flags&flagAll == 0 {
		s.sign(text)
	}
}

// Finish gives the chunks of the log, in order. They do not overlap, and records without text may lie between them. The
// chunks are valid until Reset.
func (s *Signer) Finish() []Chunk {
	if s.open {
		s.cut()
	}
	return s.chunks
}

// cut ends a chunk.
func (s *Signer) cut() {
	size := 0
	// With so many keys there are not all of them here. The signature is then its flags, which say that anything may be there.
	if s.flags&flagAll == 0 {
		grams := len(s.grams)
		for _, w := range s.ascii {
			grams += bits.OnesCount64(w)
		}
		// A Bloom filter tells most when half of its bits are set. It has whole blocks.
		size = twoSize + blockSize*blocks(int(math.Ceil(float64(wordProbes*len(s.words)+gramProbes*grams)/math.Ln2/8)))
	}
	begin := len(s.slab)
	if cap(s.slab)-begin < size {
		// A slab that grew would be copied, and be there twice: that is felt with a session of many megabytes.
		begin, s.slab = 0, make([]byte, 0, max(slabSize, size))
	}
	s.slab = s.slab[:begin+size]
	sig := s.slab[begin : begin+size : begin+size]
	clear(sig)
	if size > 0 {
		s.fill(sig[size-twoSize:], sig[:size-twoSize])
	}
	s.chunks = append(s.chunks, Chunk{From: s.from, To: s.to, Sig: sig, Flags: sigVersion | s.flags})
	s.clear()
}

// fill makes a signature of the keys.
func (s *Signer) fill(two, filter []byte) {
	for _, k := range s.words {
		setKey(filter, k, wordProbes)
	}
	for _, k := range s.grams {
		setKey(filter, k, gramProbes)
	}
	for i, w := range s.ascii {
		if w == 0 {
			continue
		}
		// The bigrams in it: those of longer runs are not looked at one by one.
		s.two[i/word.Ranks] |= 1 << (i % word.Ranks)
		s.two[i%word.Ranks] |= w
		for ; w != 0; w &= w - 1 {
			setKey(filter, word.ASCIIGramKey(i*word.Ranks+bits.TrailingZeros64(w)), gramProbes)
		}
	}
	for i, w := range s.two {
		for ; w != 0; w &= w - 1 {
			g := i*word.Ranks + bits.TrailingZeros64(w)
			two[g>>3] |= 1 << (g & 7)
		}
	}
}

// addASCII adds the keys of a run of ASCII letters and digits.
func (s *Signer) addASCII(run []byte, kinds word.Class) {
	s.folded = append(s.folded[:0], run...)
	low := s.folded
	if kinds&word.Upper != 0 {
		for i, c := range low {
			if word.ClassOf(c) == word.Upper {
				low[i] = c | 0x20
			}
		}
	}
	s.starts = word.ASCIIHumps(s.starts[:0], run, kinds)
	s.addWords(low, s.starts)
	s.addGrams(low)
}

// addGrams adds the trigrams of a folded run of ASCII letters and digits, or its bigram where it has no trigram.
func (s *Signer) addGrams(low []byte) {
	if len(low) < 3 {
		if len(low) == 2 {
			s.addTwo(rune(low[0]), rune(low[1]))
		}
		return
	}
	a, b := word.Rank(low[0]), word.Rank(low[1])
	for _, c := range low[2:] {
		r := word.Rank(c)
		s.ascii[a*word.Ranks+b] |= 1 << (r & 63)
		a, b = b, r
	}
}

// addWords adds every row of neighbouring humps, which begin at these bytes. That is 36 rows at most: see word.HumpsMost.
func (s *Signer) addWords(low []byte, starts []int) {
	for i := range starts {
		for j := i; j < len(starts); j++ {
			end := len(low)
			if j+1 < len(starts) {
				end = starts[j+1]
			}
			if k := word.Key(low[starts[i]:end]); s.seen.add(k) {
				s.words = append(s.words, k)
			}
		}
	}
}

// wide adds the keys of a run with characters beyond ASCII, or of one such character that belongs to no run. It gives how
// many bytes that were, and the character where it stands for itself, otherwise -1. The run is then in s.runes, folded, and
// where its humps begin, counted in characters, in s.starts.
func (s *Signer) wide(text []byte, last rune) (n int, single rune) {
	s.runes = s.runes[:0]
	for n < len(text) {
		r, size := utf8.DecodeRune(text[n:])
		if !word.IsChar(r) {
			if n == 0 {
				s.addSingle(r, last)
				return size, r
			}
			break
		}
		s.runes = append(s.runes, r)
		n += size
	}
	s.starts = word.Humps(s.starts[:0], s.runes)
	low, hump := s.folded[:0], 0
	var starts [word.HumpsMost]int // as s.starts, counted in bytes
	for i, r := range s.runes {
		f := word.Fold(r)
		if r >= utf8.RuneSelf && f < utf8.RuneSelf {
			s.flags |= flagOdd
		}
		s.runes[i] = f
		if hump < len(s.starts) && s.starts[hump] == i {
			starts[hump] = len(low)
			hump++
		}
		low = utf8.AppendRune(low, f)
	}
	s.folded = low
	if !s.runs.add(word.Hash(text[:n], spelled)) {
		return n, -1
	}
	s.addWords(low, starts[:hump])
	for i := 1; i < len(s.runes); i++ {
		if i > 1 {
			s.addGram(s.runes[i-2], s.runes[i-1], s.runes[i])
		}
		s.addTwo(s.runes[i-1], s.runes[i])
	}
	return n, -1
}

// addTwo adds a bigram, if it is one of ASCII.
func (s *Signer) addTwo(a, b rune) {
	if g, ok := word.ASCIIBigram(a, b); ok {
		s.two[g/word.Ranks] |= 1 << (g % word.Ranks)
	}
}

// addGram adds a trigram.
func (s *Signer) addGram(a, b, c rune) {
	if g, ok := word.ASCIIGram(a, b, c); ok {
		s.ascii[g/word.Ranks] |= 1 << (g % word.Ranks)
		return
	}
	if k := word.WideGramKey(a, b, c); s.seen.add(k) {
		s.grams = append(s.grams, k)
	}
}

// addSingle adds a character that stands for itself, and its pair with the one before.
func (s *Signer) addSingle(r, last rune) {
	r = word.Fold(r)
	if r < utf8.RuneSelf {
		s.flags |= flagOdd // no symbol folds to a letter; but then nothing depends on that
		return
	}
	if k := word.SingleKey(r); s.seen.add(k) {
		s.grams = append(s.grams, k)
	}
	if last >= 0 {
		if k := word.PairKey(word.Fold(last), r); s.seen.add(k) {
			s.grams = append(s.grams, k)
		}
	}
}
