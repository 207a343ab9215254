package index

import (
	"unicode"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/index/word"
)

// asciiHead and asciiTail are word.Head and word.Tail for an ASCII run that is not folded: digits have the bit of lower-case
// letters already.
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

// ends are the beginnings or the ends of a run for phrase keys: three characters, or all if there are fewer, and any shorter rows of humps
// at that end, since a word of a phrase may be such a row. At most two are shorter than three characters.
type ends struct {
	all   uint64
	short [2]uint64
	n     int
}

func (e *ends) add(n uint64) {
	e.short[e.n] = n
	e.n++
}

// headsOf and tailsOf return the ends of a folded run whose humps begin at these characters.
func headsOf(run []rune, starts []int) (e ends) {
	e.all = word.Head(run)
	for _, at := range starts[1:] {
		if at > 2 {
			break
		}
		e.add(word.Head(run[:at]))
	}
	return e
}

func tailsOf(run []rune, starts []int) (e ends) {
	e.all = word.Tail(run)
	for i := len(starts) - 1; i > 0 && len(run)-starts[i] <= 2; i-- {
		e.add(word.Tail(run[starts[i]:]))
	}
	return e
}

// asciiHeads and asciiTails are the same for an ASCII run that is not folded. Humps are computed only if a capital is near
// the end.
func asciiHeads(run []byte, kinds word.Class) (e ends) {
	e.all = asciiHead(run)
	// A run with capitals and lower-case letters has at least two characters.
	if kinds&word.Cased != word.Cased || (word.ClassOf(run[1])|word.ClassOf(run[min(2, len(run)-1)]))&word.Upper == 0 {
		return e
	}
	var room [word.HumpsMost]int
	for _, at := range word.ASCIIHumps(room[:0], run, kinds)[1:] {
		if at > 2 {
			break
		}
		e.add(asciiHead(run[:at]))
	}
	return e
}

func asciiTails(run []byte, kinds word.Class) (e ends) {
	e.all = asciiTail(run)
	n := len(run)
	if kinds&word.Cased != word.Cased || (word.ClassOf(run[n-1])|word.ClassOf(run[n-2]))&word.Upper == 0 {
		return e
	}
	var room [word.HumpsMost]int
	starts := word.ASCIIHumps(room[:0], run, kinds)
	for i := len(starts) - 1; i > 0 && n-starts[i] <= 2; i-- {
		e.add(asciiTail(run[starts[i]:]))
	}
	return e
}

// addShort adds pairs of the ends of the run before (its tail, and the shorter ones in s.tails) and the heads of this one, except the pair
// of the two longest. A query may look for each of them: its words may be whole runs or rows of humps.
func (s *Signer) addShort(tail uint64, head ends) {
	for _, t := range s.tails.short[:s.tails.n] {
		s.addPair(t, head.all)
		for _, h := range head.short[:head.n] {
			s.addPair(t, h)
		}
	}
	for _, h := range head.short[:head.n] {
		s.addPair(tail, h)
	}
}

// addPair adds the key of two runs.
func (s *Signer) addPair(tail, head uint64) {
	if k := word.PhraseKey(tail, head); !s.seen.Has(k) && s.seen.Add(k) {
		s.grams = append(s.grams, k)
	}
}

// isGap reports whether the bytes between two runs are white space only.
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
	return true // two runs are never adjacent
}
