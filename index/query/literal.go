package query

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/index/word"
)

// literal is a text to look for: pieces with white space between them.
type literal struct {
	pieces [][]rune // folded unless exact; none is empty
	// left and right: there must be a boundary at the beginning, and at the end.
	left, right bool
	exact       bool
	first       [256]bool // the bytes with which it may begin
}

// newLiteral returns nil for a text that is only white space.
func newLiteral(text string, left, right, exact bool) *literal {
	l := &literal{left: left, right: right, exact: exact}
	for _, f := range strings.Fields(strings.ToValidUTF8(text, string(utf8.RuneError))) {
		piece := []rune(f)
		if !exact {
			piece = foldAll(piece)
		}
		l.pieces = append(l.pieces, piece)
	}
	if len(l.pieces) == 0 {
		return nil
	}
	for _, r := range variants(l.pieces[0][0], exact) {
		var b [utf8.UTFMax]byte
		utf8.EncodeRune(b[:], r)
		l.first[b[0]] = true
	}
	return l
}

// variants returns the runes that match a rune.
func variants(r rune, exact bool) []rune {
	list := []rune{r}
	if exact {
		return list
	}
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		list = append(list, f)
	}
	return list
}

// find returns the leftmost occurrence at or after from; -1 if there is none. An occurrence has only one possible end.
func (l *literal) find(text string, from int) (start, end int) {
	compared := 0
	// Byte by byte is sound: the first byte of a character does not occur inside another character.
	for i := from; i < len(text); i++ {
		if !l.first[text[i]] {
			continue
		}
		end, last := l.at(text, i)
		if compared += last - i; compared > 8*(i-from)+comparedMost {
			return l.linear(text, i)
		}
		if end < 0 || l.left && !boundary(text, i) || l.right && !boundary(text, end) {
			continue
		}
		return i, end
	}
	return -1, -1
}

// comparedMost bounds the bytes of failed comparisons, beyond a few for each byte of the text. find then changes to a linear algorithm.
const comparedMost = 1 << 16

// at returns the end of the literal that begins at i; -1 if it does not begin there. last is how far it read.
func (l *literal) at(text string, i int) (end, last int) {
	for n, piece := range l.pieces {
		if n > 0 {
			before := i
			i += len(text[i:]) - len(strings.TrimLeftFunc(text[i:], unicode.IsSpace))
			if i == before {
				return -1, i
			}
		}
		for _, want := range piece {
			if i >= len(text) {
				return -1, i
			}
			r, size := rune(text[i]), 1
			if r >= utf8.RuneSelf {
				r, size = utf8.DecodeRuneInString(text[i:])
			}
			if r != want && (l.exact || word.Fold(r) != want) {
				return -1, i
			}
			i += size
		}
	}
	return i, i
}

// boundary reports whether a word may begin or end at a position: beside anything that is not a word character, and between humps.
func boundary(text string, at int) bool {
	a, n := utf8.DecodeLastRuneInString(text[:at])
	if n == 0 || !word.IsChar(a) {
		return true
	}
	b, n := utf8.DecodeRuneInString(text[at:])
	if n == 0 || !word.IsChar(b) {
		return true
	}
	next, _ := utf8.DecodeRuneInString(text[at+n:])
	return word.IsHump(a, b, next) && humped(text, at)
}

// humped reports whether the humps of the run around a position count. It is called only where a hump would be, which is rare.
func humped(text string, at int) bool {
	start, runes := at, 0
	// A run that is too long for humps need not be followed to its beginning; it may be a megabyte of base64.
	for start > 0 && runes <= word.HumpRunes {
		r, n := utf8.DecodeLastRuneInString(text[:start])
		if !word.IsChar(r) {
			break
		}
		start -= n
		runes++
	}
	var run [word.HumpRunes + 1]rune
	runes = 0
	for _, r := range text[start:] {
		if !word.IsChar(r) {
			break
		}
		if runes == len(run) {
			return false
		}
		run[runes] = r
		runes++
	}
	var starts [word.HumpsMost]int
	return runes <= word.HumpRunes && len(word.Humps(starts[:0], run[:runes])) > 1
}
