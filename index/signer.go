package index

import (
	"math"
	"math/bits"
	"slices"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/index/word"
)

// A signature tells which words may occur in a chunk of a log, so that a search can skip most chunks. It is a Bloom filter over hashed
// keys, followed by a bit for each bigram of ASCII letters and digits, and a byte of flags. The keys are
//   - the words of each run of word characters: every row of neighbouring humps, folded, the whole run among them;
//   - the trigrams of each run, folded, for prefixes, substrings and regular expressions;
//   - for phrases, each pair of runs with only white space between them: the last three characters of the first and the
//     first three of the second, or all if there are fewer; also with the shorter humps at these ends in their place;
//   - each character of a script without spaces and each symbol beyond ASCII, alone and in pairs of neighbours.
//
// Words get more bits than trigrams, of which a query has several. There are so few bigrams that their bits take less room
// than hashes of those that occur.
const (
	wordProbes = 6 // false-positive rate about 1/64
	gramProbes = 4 // false-positive rate about 1/16

	// chunkBytes is about how much of a log one signature covers.
	chunkBytes = 64 << 10

	// slabSize is the size of the blocks in which signatures are allocated.
	slabSize = 256 << 10

	// twoSize is the size of the bits of bigrams.
	twoSize = (word.Ranks*word.Ranks + 7) / 8

	sigVersion = 5 << 4
	// flagAll: there were too many keys for a filter. Anything may occur.
	flagAll  = 1 << 1
	keysMost = 1 << 18
	// flagOdd: a character beyond ASCII that folds to an ASCII letter (the Kelvin sign, the long s) occurs.
	flagOdd = 1 << 0
)

// Chunk is a part of a log with its signature.
type Chunk struct {
	// From is the beginning of its first record, To the end of its last.
	From, To int64
	// Sig and Flags hold hashes and no text. Kept reads them.
	Sig   []byte
	Flags byte
	// Words are the keys of words, of phrases, of rows of five characters and of characters beyond ASCII; Grams are the numbers of ASCII
	// trigrams and bigrams. They have no order; see query.Keys. They are set if Signer.List is, unless the chunk has too many keys.
	Words []uint64
	Grams []uint16
}

// All reports whether the chunk had too many keys: anything may occur in it.
func (c *Chunk) All() bool { return c.Flags&flagAll != 0 }

// Odd reports whether the chunk may contain characters beyond ASCII that fold to an ASCII letter.
func (c *Chunk) Odd() bool { return c.Flags&0xf0 != sigVersion || c.Flags&flagOdd != 0 }

// Signer makes the signatures of one log from its texts. The zero value is ready; Reset prepares it for the next log and
// keeps its memory.
type Signer struct {
	// List makes the Signer fill in Chunk.Words and Chunk.Grams.
	List bool
	// Whole does not divide logs into chunks: several logs share a signature; see Leave.
	Whole bool

	chunks []Chunk
	slab   []byte // current block of signatures; full ones stay with their chunks
	from   int64
	to     int64
	open   bool // there is text since the last chunk

	runs  word.Set                        // hashes of runs as they are spelled
	seen  word.Set                        // all keys
	words []uint64                        // keys with wordProbes
	grams []uint64                        // keys with gramProbes
	longs word.Set                        // keys of rows of characters, if they are listed; see word.LongKey
	ascii [word.Ranks * word.Ranks]uint64 // ASCII trigrams that occur: for the first two characters, bits for the third
	two   [word.Ranks]uint64              // ASCII bigrams outside of such trigrams: for the first character, bits for the second
	flags byte

	folded []byte
	runes  []rune
	starts []int
	tails  ends // the shorter ends of the run before
	edges  word.Edges
	news   news
	wider  [512 + shortMost + 1]byte // a short text with padding
}

// Reset forgets all chunks.
func (s *Signer) Reset() {
	s.clear()
	clear(s.chunks) // they refer to slabs
	s.chunks, s.slab = s.chunks[:0], s.slab[:0]
}

// clear drops the unfinished chunk.
func (s *Signer) clear() {
	s.runs.Clear()
	s.seen.Clear()
	s.longs.Clear()
	s.words, s.grams = s.words[:0], s.grams[:0]
	clear(s.ascii[:])
	clear(s.two[:])
	s.flags, s.open = 0, false
}

// Add adds one text of the record at [from, to). Records must come in the order of the log, and all texts of one record together. Add keeps
// nothing of text.
func (s *Signer) Add(text []byte, from, to int64) {
	// All texts of a record belong to one chunk, because the terms of a query may be spread over them.
	if s.open && !s.Whole && from >= s.to && from-s.from >= chunkBytes {
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

// Leave ends a log without ending its signature, which the next log shares; see Update.Together. It returns the range of the log's texts;
// ok is false if it has none.
func (s *Signer) Leave() (from, to int64, ok bool) {
	ok, s.open = s.open, false
	return s.from, s.to, ok
}

// Together returns the signature of the logs since the last call, and begins another. It is valid until the next call.
func (s *Signer) Together() *Chunk {
	s.chunks, s.slab = s.chunks[:0], s.slab[:0]
	s.cut()
	return &s.chunks[0]
}

// Open returns where the unfinished chunk begins; ok is false if there is none.
func (s *Signer) Open() (from int64, ok bool) { return s.from, s.open }

// Finish returns the chunks of the log, in order. They do not overlap, and records without text may be between them. They
// are valid until Reset.
func (s *Signer) Finish() []Chunk {
	if s.open {
		s.cut()
	}
	return s.chunks
}

// cut ends a chunk.
func (s *Signer) cut() {
	size := 0
	// With too many keys the signature consists of its flags only.
	if s.flags&flagAll == 0 {
		grams := len(s.grams)
		for _, w := range s.ascii {
			grams += bits.OnesCount64(w)
		}
		// A Bloom filter is most effective when half of its bits are set. It consists of whole blocks.
		size = twoSize + blockSize*blocks(int(math.Ceil(float64(wordProbes*len(s.words)+gramProbes*grams)/math.Ln2/8)))
	}
	begin := len(s.slab)
	if cap(s.slab)-begin < size {
		// Growing it would copy signatures, and double their memory meanwhile.
		begin, s.slab = 0, make([]byte, 0, max(slabSize, size))
	}
	s.slab = s.slab[:begin+size]
	sig := s.slab[begin : begin+size : begin+size]
	clear(sig)
	if size > 0 {
		s.fill(sig[size-twoSize:], sig[:size-twoSize])
	}
	c := Chunk{From: s.from, To: s.to, Sig: sig, Flags: sigVersion | s.flags}
	if s.List && size > 0 {
		c.Words, c.Grams = slices.Concat(s.words, s.grams, s.longs.List()), s.listGrams()
	}
	s.chunks = append(s.chunks, c)
	s.clear()
}

// listGrams returns the ASCII trigrams and bigrams that occur, after fill.
func (s *Signer) listGrams() (list []uint16) {
	add := func(first int, w uint64) {
		for ; w != 0; w &= w - 1 {
			list = append(list, uint16(first+bits.TrailingZeros64(w)))
		}
	}
	for i, w := range s.ascii {
		add(i*word.Ranks, w)
	}
	for i, w := range s.two {
		add(word.Bigrams+i*word.Ranks, w)
	}
	return list
}

// fill makes a signature from the keys.
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
		// The bigrams of longer runs follow from their trigrams.
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

// addGrams adds the trigrams of a folded run of ASCII letters and digits, or its bigram if it has no trigram.
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
	if s.List {
		s.addLongs(low)
	}
}

// addLongs adds the rows of word.Long characters of a folded run of ASCII letters and digits.
func (s *Signer) addLongs(low []byte) {
	row := uint64(0)
	for i, c := range low {
		row = row>>8 | uint64(c)<<(8*(word.Long-1))
		if i >= word.Long-1 {
			s.longs.Add(word.LongKey(row))
		}
		if s.longs.Len() > keysMost { // a run may be as long as its record
			s.flags |= flagAll | flagOdd
			return
		}
	}
}

// addWords adds every row of neighbouring humps, which begin at these bytes: at most 36 rows; see word.HumpsMost.
func (s *Signer) addWords(low []byte, starts []int) {
	for i := range starts {
		for j := i; j < len(starts); j++ {
			end := len(low)
			if j+1 < len(starts) {
				end = starts[j+1]
			}
			if k := word.Key(low[starts[i]:end]); s.seen.Add(k) {
				s.words = append(s.words, k)
			}
		}
	}
}

// wide adds the keys of a run with characters beyond ASCII, or of one such character that is not a word character. It returns how many
// bytes it took, and that character or -1. The folded run is then in s.runes, and the starts of its humps, counted in characters, in
// s.starts.
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
	var starts [word.HumpsMost]int // like s.starts, but counted in bytes
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
	if !s.runs.Add(word.Hash(text[:n], spelled)) {
		return n, -1
	}
	s.addWords(low, starts[:hump])
	if s.List { // the parts of the run that are ASCII
		for i := 0; i < len(low); i++ {
			from := i
			for i < len(low) && low[i] < utf8.RuneSelf {
				i++
			}
			s.addLongs(low[from:i])
		}
	}
	for i := 1; i < len(s.runes); i++ {
		if i > 1 {
			s.addGram(s.runes[i-2], s.runes[i-1], s.runes[i])
		}
		s.addTwo(s.runes[i-1], s.runes[i])
	}
	return n, -1
}

// addTwo adds a bigram if it is ASCII.
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
	s.addKey(word.WideGramKey(a, b, c))
}

// addKey adds a key with gramProbes.
func (s *Signer) addKey(k uint64) {
	if s.seen.Add(k) {
		s.grams = append(s.grams, k)
	}
}

// addSingle adds a character that is not a word character, and its pair with the one before.
func (s *Signer) addSingle(r, last rune) {
	r = word.Fold(r)
	if r < utf8.RuneSelf {
		s.flags |= flagOdd // no symbol folds to a letter today
		return
	}
	s.addKey(word.SingleKey(r))
	if last >= 0 {
		s.addKey(word.PairKey(word.Fold(last), r))
	}
}
