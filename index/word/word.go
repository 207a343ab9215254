// Package word says what a word is, and hashes words to the keys of signatures. Queries and signatures share it: a search
// finds a word only if both cut the text in the same way.
//
// Word characters are letters, digits and marks; a boundary is every position that is not between two of them. Inside a run
// of word characters there are boundaries between humps: between a lower-case letter and a capital (parse|Header), and
// before the last of several capitals that a lower-case letter follows (HTTP|Header). Characters of scripts without spaces
// between words (Han, Thai and others) are not word characters: each has a boundary on both sides. Neither are symbols.
package word

import (
	"unicode"
	"unicode/utf8"
)

// Limits of humps: a run with more humps or more characters is noise (base64, a hash) and counts as one word.
const (
	HumpsMost = 8
	HumpRunes = 64
)

// Class is the class of a byte of a text.
type Class uint8

// The classes of bytes. The bits of several bytes can be combined to describe a run.
const (
	None  Class = 0      // a separator
	Lower Class = 1 << 0 // a–z
	Upper Class = 1 << 1 // A–Z
	Digit Class = 1 << 2 // 0–9
	Wide  Class = 1 << 3 // part of a character beyond ASCII

	ASCII = Lower | Upper | Digit
	Cased = Lower | Upper // only a run with both has humps
)

var classes = func() (t [256]Class) {
	for c := range t {
		switch {
		case c >= 'a' && c <= 'z':
			t[c] = Lower
		case c >= 'A' && c <= 'Z':
			t[c] = Upper
		case c >= '0' && c <= '9':
			t[c] = Digit
		case c >= utf8.RuneSelf:
			t[c] = Wide
		}
	}
	return t
}()

// ClassOf returns the class of a byte.
func ClassOf(c byte) Class { return classes[c] }

// unspaced are the scripts without spaces between words.
var unspaced = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
	unicode.Tibetan, unicode.Bopomofo, unicode.Yi, unicode.Javanese, unicode.Balinese, unicode.Tai_Le,
	unicode.New_Tai_Lue, unicode.Tai_Tham, unicode.Tai_Viet,
}

// isUnspaced reports whether a rune belongs to a script without spaces, or is shared by several of them (the long vowel mark
// of Japanese).
func isUnspaced(r rune) bool {
	if r < 0x0E00 { // Thai is the first
		return false
	}
	return unicode.In(r, unspaced...) || r == 'ー' || r == '々' || r == '〆' || r == 'ｰ'
}

// IsChar reports whether a rune is a word character: a letter, a digit or a mark of a script with spaces. Variation selectors
// and the keycap, which are marks in Unicode, belong to emoji and do not count.
func IsChar(r rune) bool {
	if r < utf8.RuneSelf {
		return classes[r]&ASCII != 0
	}
	if !unicode.In(r, unicode.L, unicode.N, unicode.M) {
		return false
	}
	return !isUnspaced(r) && !unicode.Is(unicode.Variation_Selector, r) && r != 0x20E3
}

// Fold returns one rune for all that are equal under Unicode's simple case folding: the lower-case ASCII letter if one of
// them is ASCII, otherwise the smallest.
func Fold(r rune) rune {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		if f < utf8.RuneSelf {
			return Fold(f)
		}
		least = min(least, f)
	}
	return least
}

// IsHump reports whether a hump begins between a and b, two neighbours in a run. next is the rune after b, 0 at the end.
func IsHump(a, b, next rune) bool {
	if !unicode.IsUpper(b) {
		return false
	}
	return unicode.IsLower(a) || unicode.IsUpper(a) && unicode.IsLower(next)
}

// Humps appends to starts where the humps of a run begin, counted in runes. Noise has one hump.
func Humps(starts []int, run []rune) []int {
	starts = append(starts, 0)
	if len(run) > HumpRunes {
		return starts
	}
	for i := 1; i < len(run); i++ {
		next := rune(0)
		if i+1 < len(run) {
			next = run[i+1]
		}
		if IsHump(run[i-1], run[i], next) {
			if len(starts) == HumpsMost {
				return starts[:1]
			}
			starts = append(starts, i)
		}
	}
	return starts
}

// ASCIIHumps is Humps for a run of ASCII letters and digits. kinds is what the run consists of.
func ASCIIHumps(starts []int, run []byte, kinds Class) []int {
	starts = append(starts, 0)
	if kinds&Cased != Cased || len(run) > HumpRunes {
		return starts
	}
	for i := 1; i < len(run); i++ {
		if classes[run[i]] != Upper {
			continue
		}
		before := classes[run[i-1]]
		if before == Lower || before == Upper && i+1 < len(run) && classes[run[i+1]] == Lower {
			if len(starts) == HumpsMost {
				return starts[:1]
			}
			starts = append(starts, i)
		}
	}
	return starts
}
