package index

import (
	"unicode"
	"unicode/utf8"
)

// Limits of humps: a longer run, or one with more, is noise (base64, a hash) and counts as one word.
const (
	humpsMost = 8
	humpRunes = 64
)

// class says what a byte of a text is to those who look for words.
type class uint8

const (
	classNone  class = 0      // separates
	classLower class = 1 << 0 // a–z
	classUpper class = 1 << 1 // A–Z
	classDigit class = 1 << 2 // 0–9
	classWide  class = 1 << 3 // the first byte of something longer

	classASCII = classLower | classUpper | classDigit
	classHumps = classLower | classUpper // only a run of both has humps
)

// classes of all bytes.
var classes = func() (t [256]class) {
	for c := range t {
		switch {
		case c >= 'a' && c <= 'z':
			t[c] = classLower
		case c >= 'A' && c <= 'Z':
			t[c] = classUpper
		case c >= '0' && c <= '9':
			t[c] = classDigit
		case c >= utf8.RuneSelf:
			t[c] = classWide
		}
	}
	return t
}()

// unspaced are the scripts that put no space between words: each of their characters stands for itself.
var unspaced = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
	unicode.Tibetan, unicode.Bopomofo, unicode.Yi, unicode.Javanese, unicode.Balinese, unicode.Tai_Le,
	unicode.New_Tai_Lue, unicode.Tai_Tham, unicode.Tai_Viet,
}

// isUnspaced says whether a rune belongs to a script without spaces, or is what such scripts share (the long mark of
// Japanese, say).
func isUnspaced(r rune) bool {
	if r < 0x0E00 { // Thai is the first
		return false
	}
	return unicode.In(r, unspaced...) || r == 'ー' || r == '々' || r == '〆' || r == 'ｰ'
}

// isWord says whether a rune belongs to a run of word characters: a letter, a digit or a mark of a script with spaces.
// The selectors that choose between forms of an emoji are marks by name only.
func isWord(r rune) bool {
	if r < utf8.RuneSelf {
		return classes[r]&classASCII != 0
	}
	if !unicode.In(r, unicode.L, unicode.N, unicode.M) {
		return false
	}
	return !isUnspaced(r) && !unicode.Is(unicode.Variation_Selector, r) && r != 0x20E3
}

// fold gives the one rune that stands for all that are the same in Unicode's simple case folding. For those that have one
// it is the small ASCII letter.
func fold(r rune) rune {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		if f < utf8.RuneSelf {
			return fold(f)
		}
		least = min(least, f)
	}
	return least
}

// isHump says whether a new word begins between a and b, two neighbours in a run; next follows them, 0 at the end.
func isHump(a, b, next rune) bool {
	if !unicode.IsUpper(b) {
		return false
	}
	return unicode.IsLower(a) || unicode.IsUpper(a) && unicode.IsLower(next)
}

// humps appends to starts the places, counted in runes, where the words in a run begin. A run that is noise has one.
func humps(starts []int, run []rune) []int {
	starts = append(starts, 0)
	if len(run) > humpRunes {
		return starts
	}
	for i := 1; i < len(run); i++ {
		next := rune(0)
		if i+1 < len(run) {
			next = run[i+1]
		}
		if isHump(run[i-1], run[i], next) {
			if len(starts) == humpsMost {
				return starts[:1]
			}
			starts = append(starts, i)
		}
	}
	return starts
}
