package index

import (
	"encoding/binary"
	"math"
	"math/bits"
	"unicode"
	"unicode/utf8"
)

// A signature says what words may occur in a piece of a log, so that a search need not look into most of them. It is a
// Bloom filter over hashed keys, with a byte of flags before it; no text can be got out of it. Of what passes by, the keys
// are
//
//   - the words of each run of word characters: every row of neighbouring humps, folded, the whole run among them;
//   - the trigrams of each run, folded, for prefixes, substrings and regular expressions;
//   - for phrases, each pair of runs with only white space between them: the last three characters of the one and the
//     first three of the other, or all where there are fewer;
//   - each character of a script without spaces and each symbol beyond ASCII, alone and in pairs of neighbours.
//
// Words are rarer and worth more bits than trigrams, of which a query has several. Which keys a query needs is said in
// filter.go; both sides share what is in this file and in word.go.
const (
	wordProbes = 6 // one word in 64 is taken for present though it is not
	gramProbes = 4 // one trigram in 16

	// chunkBytes is about how much of a log one signature covers.
	chunkBytes = 64 << 10

	sigVersion = 2 << 4
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
	// Sig is opaque to all but Query.May. It holds hashes, no text.
	Sig []byte
}

// Signer makes the signatures of one log while its text passes by. The zero value is ready; Reset makes it ready for the
// next log and keeps its memory.
type Signer struct {
	chunks []Chunk
	sigs   []byte // of all chunks, one behind the other
	from   int64
	to     int64
	open   bool // there is text since the last chunk

	seen  keySet                  // hashes of runs, as they are spelled, and of keys
	words []uint64                // keys with wordProbes
	grams []uint64                // keys with gramProbes
	ascii [37*37*37/64 + 1]uint64 // which trigrams of ASCII letters and digits there were
	flags byte

	folded []byte
	runes  []rune
	starts []int
}

// Reset forgets all chunks.
func (s *Signer) Reset() {
	s.clear()
	s.chunks, s.sigs = s.chunks[:0], s.sigs[:0]
}

// clear forgets the chunk that is being made.
func (s *Signer) clear() {
	s.seen.clear()
	s.words, s.grams = s.words[:0], s.grams[:0]
	clear(s.ascii[:])
	s.flags, s.open = 0, false
}

// Add takes one text of the record at [from, to). Records come in the order of the log, and all texts of one behind each
// other. Nothing of text is kept.
func (s *Signer) Add(text []byte, from, to int64) {
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
	// The signatures moved while they grew: now they stay where they are.
	at := 0
	for i := range s.chunks {
		n := len(s.chunks[i].Sig)
		s.chunks[i].Sig = s.sigs[at : at+n : at+n]
		at += n
	}
	return s.chunks
}

// cut ends a chunk.
func (s *Signer) cut() {
	if s.flags&flagAll != 0 {
		s.words, s.grams = s.words[:0], s.grams[:0]
		clear(s.ascii[:])
	}
	grams := len(s.grams)
	for _, w := range s.ascii {
		grams += bits.OnesCount64(w)
	}
	// A Bloom filter tells most when half of its bits are set.
	size := int(math.Ceil(float64(wordProbes*len(s.words)+gramProbes*grams) / math.Ln2 / 8))
	begin := len(s.sigs)
	s.sigs = append(s.sigs, sigVersion|s.flags)
	s.sigs = append(s.sigs, make([]byte, size)...)
	sig := s.sigs[begin:]
	for _, k := range s.words {
		setKey(sig[1:], k, wordProbes)
	}
	for _, k := range s.grams {
		setKey(sig[1:], k, gramProbes)
	}
	for i, w := range s.ascii {
		for ; w != 0; w &= w - 1 {
			setKey(sig[1:], asciiKey(i*64+bits.TrailingZeros64(w)), gramProbes)
		}
	}
	s.chunks = append(s.chunks, Chunk{From: s.from, To: s.to, Sig: sig})
	s.clear()
}

// sign adds the keys of a text.
func (s *Signer) sign(text []byte) {
	last := rune(-1)          // the character before, where it stands for itself
	tail, end := uint64(0), 0 // what the run before ended with, and where
	for i := 0; i < len(text); {
		if s.seen.n > keysMost {
			s.flags |= flagAll | flagOdd
			return
		}
		c := classes[text[i]]
		if c == classNone {
			i++
			last = -1
			continue
		}
		if c != classWide {
			j, kinds := i+1, c
			for j < len(text) {
				k := classes[text[j]]
				if k&classASCII == 0 {
					break
				}
				kinds |= k
				j++
			}
			if j == len(text) || text[j] < utf8.RuneSelf {
				// Most runs are short, and known already.
				var h uint64
				if n := j - i; n <= 8 && i+8 <= len(text) {
					h = mix(binary.LittleEndian.Uint64(text[i:])<<(64-8*n), spelled^uint64(n))
				} else {
					h = hashBytes(text[i:j], spelled)
				}
				if !s.seen.has(h) && s.seen.add(h) {
					s.addASCII(text[i:j], kinds)
				}
				if tail != 0 && (i == end+1 && text[end] == ' ' || isGap(text[end:i])) {
					s.addPhrase(tail, asciiHead(text[i:j]))
				}
				tail, end = asciiTail(text[i:j]), j
				i, last = j, -1
				continue
			}
		}
		n, r := s.wide(text[i:], last)
		if r < 0 { // it was a run, and is still in s.runes
			if tail != 0 && isGap(text[end:i]) {
				s.addPhrase(tail, headOf(s.runes))
			}
			tail, end = tailOf(s.runes), i+n
		}
		i, last = i+n, r
	}
}

// addASCII adds the keys of a run of ASCII letters and digits.
func (s *Signer) addASCII(run []byte, kinds class) {
	s.folded = append(s.folded[:0], run...)
	low := s.folded
	if kinds&classUpper != 0 {
		for i, c := range low {
			if classes[c] == classUpper {
				low[i] = c | 0x20
			}
		}
	}
	s.starts = asciiHumps(s.starts[:0], run, kinds)
	s.addWords(low, s.starts)
	if len(low) < 3 {
		return
	}
	a, b := asciiRank[low[0]], asciiRank[low[1]]
	for _, c := range low[2:] {
		r := asciiRank[c]
		g := (int(a)*37+int(b))*37 + int(r)
		s.ascii[g>>6] |= 1 << (g & 63)
		a, b = b, r
	}
}

// asciiHumps is humps for ASCII.
func asciiHumps(starts []int, run []byte, kinds class) []int {
	starts = append(starts, 0)
	if kinds&(classLower|classUpper) != classLower|classUpper || len(run) > humpRunes {
		return starts
	}
	for i := 1; i < len(run); i++ {
		if classes[run[i]] != classUpper {
			continue
		}
		before := classes[run[i-1]]
		if before == classLower || before == classUpper && i+1 < len(run) && classes[run[i+1]] == classLower {
			if len(starts) == humpsMost {
				return starts[:1]
			}
			starts = append(starts, i)
		}
	}
	return starts
}

// addWords adds every row of neighbouring humps, which begin at these bytes.
func (s *Signer) addWords(low []byte, starts []int) {
	for i := range starts {
		for j := i; j < len(starts); j++ {
			end := len(low)
			if j+1 < len(starts) {
				end = starts[j+1]
			}
			if k := wordKey(low[starts[i]:end]); s.seen.add(k) {
				s.words = append(s.words, k)
			}
		}
	}
}

// wide adds the keys of a run with characters beyond ASCII, or of one such character that belongs to no run. It gives how
// many bytes that were, and the character where it stands for itself, otherwise -1. The run is then in s.runes, folded.
func (s *Signer) wide(text []byte, last rune) (n int, single rune) {
	s.runes = s.runes[:0]
	for n < len(text) {
		r, size := utf8.DecodeRune(text[n:])
		if !isWord(r) {
			if n == 0 {
				s.addSingle(r, last)
				return size, r
			}
			break
		}
		s.runes = append(s.runes, r)
		n += size
	}
	s.starts = humps(s.starts[:0], s.runes)
	low, hump := s.folded[:0], 0
	for i, r := range s.runes {
		f := fold(r)
		if r >= utf8.RuneSelf && f < utf8.RuneSelf {
			s.flags |= flagOdd
		}
		s.runes[i] = f
		if hump < len(s.starts) && s.starts[hump] == i {
			s.starts[hump] = len(low) // from now on counted in bytes
			hump++
		}
		low = utf8.AppendRune(low, f)
	}
	s.folded = low
	if !s.seen.add(hashBytes(text[:n], spelled)) {
		return n, -1
	}
	s.addWords(low, s.starts)
	for i := 2; i < len(s.runes); i++ {
		s.addGram(s.runes[i-2], s.runes[i-1], s.runes[i])
	}
	return n, -1
}

// addPhrase adds a pair of runs.
func (s *Signer) addPhrase(tail, head uint64) {
	if k := phraseKey(tail, head); !s.seen.has(k) && s.seen.add(k) {
		s.grams = append(s.grams, k)
	}
}

// isGap says whether there is white space and nothing else between two runs.
func isGap(b []byte) bool {
	for len(b) > 0 {
		if c := b[0]; c < utf8.RuneSelf {
			if c != ' ' && (c < '\t' || c > '\r') {
				return false
			}
			b = b[1:]
			continue
		}
		r, n := utf8.DecodeRune(b)
		if !unicode.IsSpace(r) {
			return false
		}
		b = b[n:]
	}
	return true // two runs never touch
}

// addGram adds a trigram.
func (s *Signer) addGram(a, b, c rune) {
	if g, ok := asciiGram(a, b, c); ok {
		s.ascii[g>>6] |= 1 << (g & 63)
		return
	}
	if k := gramKey(a, b, c); s.seen.add(k) {
		s.grams = append(s.grams, k)
	}
}

// addSingle adds a character that stands for itself, and its pair with the one before.
func (s *Signer) addSingle(r, last rune) {
	r = fold(r)
	if r < utf8.RuneSelf {
		s.flags |= flagOdd // no symbol folds to a letter; but then nothing depends on that
		return
	}
	if k := singleKey(r); s.seen.add(k) {
		s.grams = append(s.grams, k)
	}
	if last >= 0 {
		if k := pairKey(fold(last), r); s.seen.add(k) {
			s.grams = append(s.grams, k)
		}
	}
}

// headOf and tailOf give the first and the last three characters of a folded run as a number, which is not 0.
func headOf(run []rune) (n uint64) {
	for _, r := range run[:min(3, len(run))] {
		n = n<<21 | uint64(r)
	}
	return n
}

func tailOf(run []rune) (n uint64) {
	for _, r := range run[max(0, len(run)-3):] {
		n = n<<21 | uint64(r)
	}
	return n
}

// asciiHead and asciiTail are the same for a run of ASCII that is not folded: digits have the bit of small letters already.
func asciiHead(run []byte) uint64 {
	switch len(run) {
	case 1:
		return uint64(run[0] | 0x20)
	case 2:
		return uint64(run[0]|0x20)<<21 | uint64(run[1]|0x20)
	}
	return uint64(run[0]|0x20)<<42 | uint64(run[1]|0x20)<<21 | uint64(run[2]|0x20)
}

func asciiTail(run []byte) uint64 {
	if n := len(run); n > 3 {
		run = run[n-3:]
	}
	return asciiHead(run)
}

// Seeds keep apart the kinds of hashes.
const (
	spelled uint64 = 0x9e3779b97f4a7c15 // a run as it is spelled; never in a signature
	aWord   uint64 = 0xc2b2ae3d27d4eb4f
	aGram   uint64 = 0x165667b19e3779f9
	aSingle uint64 = 0xd6e8feb86659fd93
	aPair   uint64 = 0xa0761d6478bd642f
	aPhrase uint64 = 0xe7037ed1a0b428db
)

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
	return (int(asciiRank[a])*37+int(asciiRank[b]))*37 + int(asciiRank[c]), true
}

// anyGramKey is the key of a trigram of folded characters.
func anyGramKey(a, b, c rune) uint64 {
	if g, ok := asciiGram(a, b, c); ok {
		return asciiKey(g)
	}
	return gramKey(a, b, c)
}

// setKey and hasKey are the Bloom filter. The probes come from the two halves of the key.
func setKey(bitmap []byte, key uint64, probes int) {
	m := uint64(len(bitmap)) * 8
	h, step := uint32(key), uint32(key>>32)|1
	for range probes {
		at := uint64(h) * m >> 32
		bitmap[at>>3] |= 1 << (at & 7)
		h += step
	}
}

func hasKey(bitmap []byte, key uint64, probes int) bool {
	m := uint64(len(bitmap)) * 8
	if m == 0 {
		return false
	}
	h, step := uint32(key), uint32(key>>32)|1
	for range probes {
		at := uint64(h) * m >> 32
		if bitmap[at>>3]&(1<<(at&7)) == 0 {
			return false
		}
		h += step
	}
	return true
}

// mix makes of two numbers one in which each bit depends on all of theirs.
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

// has says whether the key is known, if that is to be seen at once; it may be known all the same.
func (k *keySet) has(key uint64) bool {
	return len(k.slots) > 0 && k.slots[key&uint64(len(k.slots)-1)] == key
}

// add says whether the key is new.
func (k *keySet) add(key uint64) bool {
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
