package index

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/index/word"
)

// spelled is the seed for hashes of runs as they are spelled, which tell whether a run is new. They are not stored.
const spelled uint64 = 0x9e3779b97f4a7c15

// trail is the end of the last run: its last three characters, its position, and, in Signer.tails, its shorter ends.
type trail struct {
	tail uint64 // 0 if there was none
	end  int
}

// sign adds the keys of a text.
func (s *Signer) sign(text []byte) {
	var (
		last   trail
		n      int
		padded = text
	)
	s.tails.n = 0
	// A short text is padded, so that shortRuns can read 16 bytes at each of its runs.
	if len(text) <= len(s.wider)-shortMost-1 {
		n := copy(s.wider[:], text)
		clear(s.wider[n : n+shortMost+1])
		padded = s.wider[:n+shortMost+1]
	}
	for from := 0; from < len(text); from += word.EdgeWindow {
		// Only a record much longer than a chunk has so many keys. flagOdd is set as well, since the rest is not looked at.
		if s.runs.Len()+s.seen.Len() > keysMost {
			s.flags |= flagAll | flagOdd
		}
		if s.flags&flagAll != 0 {
			return
		}
		n = s.edges.Find(text, from, min(from+word.EdgeWindow, len(text)), n)
		for list := s.edges[:n&^1]; len(list) > 0; {
			var k int
			if k, last = s.shortRuns(padded, list, last); k < len(list) {
				last = s.anyRun(text, list[k], list[k+1], last)
				k += 2
			}
			list = list[k:]
		}
		if n&1 != 0 { // the run continues in the next window
			s.edges[0] = s.edges[n-1]
		}
		n &= 1
	}
}

const (
	highs = 0x8080808080808080
	small = 0x2020202020202020 // the bit that lower-case letters and digits have and capitals do not
)

// shortMost is the length of runs that fit in two words.
const shortMost = 16

// ofLength has masks for runs of one length: the bytes of two words that belong to the run, the surplus bits of the head,
// and the bits of the tail.
type ofLength struct {
	a, b, tail uint64
	head       uint
}

var lengths = func() (t [shortMost + 1]ofLength) {
	for n := range t {
		t[n] = ofLength{
			a: 1<<(8*min(n, 8)) - 1, b: 1<<(8*max(n-8, 0)) - 1,
			head: 21 * uint(3-min(n, 3)), tail: 1<<(21*min(n, 3)) - 1,
		}
	}
	return t
}()

// spread arranges three bytes as asciiHead does.
func spread(w uint64) uint64 { return w&0xff<<42 | w&0xff00<<13 | w>>16&0xff }

// news is what shortRuns has found and not yet added, as indexes into the list of edges.
type news struct {
	runs [word.EdgeWindow/2 + 1]struct { // runs that may be new
		hash uint64
		at   int
	}
	ends [word.EdgeWindow/2 + 1]int // ends of runs that white space follows
}

// shortRuns adds the keys of plain runs: ASCII, at most 16 bytes, and not at the end of the text. It returns how many edges
// it took.
//
// Most runs are known already, and a branch for each would be mispredicted. So a first loop writes down every run without
// branching, and counts it only if it may be new.
func (s *Signer) shortRuns(text []byte, list []int, last trail) (k int, _ trail) {
	var (
		slots      = s.runs.Slots()
		mask       = uint64(len(slots) - 1)
		found      = &s.news
		runs, ends int
	)
	for ; k+1 < len(list); k += 2 {
		i, j := list[k], list[k+1]
		n := uint(j - i)
		if n > shortMost || i+shortMost >= len(text) || j < 4 {
			break
		}
		// Always 16 bytes, of which those after the run are cleared.
		w, l := (*[shortMost]byte)(text[i:]), &lengths[n]
		a, b := binary.LittleEndian.Uint64(w[:])&l.a, binary.LittleEndian.Uint64(w[8:])&l.b
		if (a|b)&highs != 0 {
			break
		}
		h := word.Mix(word.Mix(a, spelled), b)
		found.runs[runs].hash, found.runs[runs].at = h, k
		if slots[h&mask] != h {
			runs++
		}
		found.ends[ends] = k + 1
		ends += spaces[text[j]]
	}
	if k == 0 {
		return k, last
	}
	s.follow(text, list[0], list[1], last)
	for _, r := range found.runs[:runs] {
		if s.runs.Add(r.hash) { // the run may be in the list twice
			s.addRun((*[shortMost]byte)(text[list[r.at]:]), list[r.at+1]-list[r.at])
		}
	}
	s.addPairs(text, list[:k], found.ends[:ends])
	run := text[list[k-2]:list[k-1]]
	s.tails = asciiTails(run, kindsOf(run))
	return k, trail{s.tails.all, list[k-1]}
}

// addRun is addASCII for a run of n bytes that shortRuns found. The bytes after it are ignored.
func (s *Signer) addRun(run *[shortMost]byte, n int) {
	l := &lengths[n]
	a, b := binary.LittleEndian.Uint64(run[:])&l.a, binary.LittleEndian.Uint64(run[8:])&l.b
	var low [shortMost]byte
	binary.LittleEndian.PutUint64(low[:], a|small)
	binary.LittleEndian.PutUint64(low[8:], b|small)
	s.starts = append(s.starts[:0], 0)
	upper := byteBits(capitals(a)) | byteBits(capitals(b))<<8
	if lower := byteBits(a>>1&a&small) | byteBits(b>>1&b&small)<<8; upper != 0 && lower != 0 {
		// word.ASCIIHumps for all bytes at once
		humps := upper & (lower<<1 | upper<<1&(lower>>1))
		if bits.OnesCount(humps) < word.HumpsMost {
			for ; humps != 0; humps &= humps - 1 {
				s.starts = append(s.starts, bits.TrailingZeros(humps))
			}
		}
	}
	s.addWords(low[:n], s.starts)
	s.addGrams(low[:n])
}

// byteBits has a bit for each byte of w whose only bit is that of lower-case letters.
func byteBits(w uint64) uint { return uint(w >> 5 * 0x0102040810204080 >> 56) }

// addPairs adds pairs of the runs of shortRuns. ends are the edges that white space follows.
func (s *Signer) addPairs(text []byte, list, ends []int) {
	for _, k := range ends {
		if k+2 >= len(list) {
			break
		}
		end, i := list[k], list[k+1]
		if i != end+1 && !isGap(text[end:i]) {
			continue
		}
		before, l := &lengths[end-list[k-1]], &lengths[list[k+2]-i]
		c, a := uint64(binary.LittleEndian.Uint32(text[end-4:])), uint64(binary.LittleEndian.Uint32(text[i:]))&l.a
		// asciiTail and asciiHead without a branch on the length
		key := word.PhraseKey(spread(c>>8|small)&before.tail, spread(a|small)>>(l.head&63))
		if s.seen.Add(key) {
			s.grams = append(s.grams, key)
		}
		// Only a capital near the end makes a shorter end.
		if capitals(c)&0x20_20_00_00|capitals(a)&0x20_20_00 != 0 {
			run := text[list[k-1]:end]
			s.tails = asciiTails(run, kindsOf(run))
			run = text[i:list[k+2]]
			s.addShort(s.tails.all, asciiHeads(run, kindsOf(run)))
		}
	}
}

// spaces has 1 for each byte with which white space may begin.
var spaces = func() (t [256]int) {
	for c := range t {
		if c >= utf8.RuneSelf || isGap([]byte{byte(c)}) {
			t[c] = 1
		}
	}
	return t
}()

// follow adds the pair of the run before and an ASCII run, if there is one.
func (s *Signer) follow(text []byte, i, j int, last trail) {
	if last.tail != 0 && isGap(text[last.end:i]) {
		run := text[i:j]
		s.addPair(last.tail, asciiHead(run))
		s.addShort(last.tail, asciiHeads(run, kindsOf(run)))
	}
}

// capitals has the bit of lower-case letters for each byte that is a capital; all bytes must be letters and digits.
func capitals(w uint64) uint64 { return w >> 1 &^ w & small }

// kindsOf returns the classes of the bytes of a run.
func kindsOf(run []byte) (k word.Class) {
	for _, c := range run {
		k |= word.ClassOf(c)
	}
	return k
}

// anyRun adds the keys of one run.
func (s *Signer) anyRun(text []byte, i, j int, last trail) trail {
	run := text[i:j]
	kinds := kindsOf(run)
	if kinds&word.Wide != 0 {
		return s.wideRuns(text, i, j, last)
	}
	return s.asciiRun(text, i, j, kinds, last)
}

// asciiRun adds the keys of a run of ASCII letters and digits. Its hash differs from that of shortRuns; a run that takes
// both ways is added twice, without effect.
func (s *Signer) asciiRun(text []byte, i, j int, kinds word.Class, last trail) trail {
	run := text[i:j]
	if h := word.Hash(run, spelled); s.runs.Add(h) {
		s.addASCII(run, kinds)
	}
	s.follow(text, i, j, last)
	s.tails = asciiTails(run, kinds)
	return trail{s.tails.all, j}
}

// wideRuns adds the keys of text between ASCII separators that has characters beyond ASCII, which may separate words as
// well.
func (s *Signer) wideRuns(text []byte, i, to int, last trail) trail {
	single := rune(-1) // the character before, if it is not a word character
	for i < to {
		if word.ClassOf(text[i]) != word.Wide {
			j, kinds := i, word.Class(0)
			for j < to && text[j] < utf8.RuneSelf {
				kinds |= word.ClassOf(text[j])
				j++
			}
			if j == to {
				return s.asciiRun(text, i, j, kinds, last)
			}
		}
		n, r := s.wide(text[i:to], single)
		if r < 0 { // a run, whose runes are in s.runes
			if last.tail != 0 && isGap(text[last.end:i]) {
				head := headsOf(s.runes, s.starts)
				s.addPair(last.tail, head.all)
				s.addShort(last.tail, head)
			}
			s.tails = tailsOf(s.runes, s.starts)
			last = trail{s.tails.all, i + n}
		}
		i, single = i+n, r
	}
	return last
}
