package query

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/index/word"
)

// gap stands for white space of any length between the pieces of a literal.
const gap rune = -1

// linear is find for texts that repeat the beginning of the literal, such as rows of one letter. It reads each character once (Knuth,
// Morris and Pratt), whereas find compares at each position anew.
func (l *literal) linear(text string, from int) (start, end int) {
	pattern := l.pattern()
	// next[n] is how much of the pattern still matches if its first n runes do and the one after them does not.
	next := make([]int, len(pattern)+1)
	next[0] = -1
	for n, k := 0, -1; n < len(pattern); {
		for k >= 0 && pattern[n] != pattern[k] {
			k = next[k]
		}
		n, k = n+1, k+1
		next[n] = k
	}
	starts := make([]int, len(pattern)) // the starts of the last runes, as a ring
	for i, n, at := from, 0, 0; i < len(text); at++ {
		starts[at%len(starts)] = i
		var r rune
		if r, i = l.rune(text, i); r == gap {
			i += len(text[i:]) - len(strings.TrimLeftFunc(text[i:], unicode.IsSpace))
		}
		for n >= 0 && (n == len(pattern) || pattern[n] != r) {
			n = next[n]
		}
		if n++; n < len(pattern) {
			continue
		}
		first := starts[(at+1)%len(starts)]
		if l.first[text[first]] && (!l.left || boundary(text, first)) && (!l.right || boundary(text, i)) {
			return first, i
		}
	}
	return -1, -1
}

// pattern returns the literal as one row of runes.
func (l *literal) pattern() (list []rune) {
	for n, piece := range l.pieces {
		if n > 0 {
			list = append(list, gap)
		}
		list = append(list, piece...)
	}
	return list
}

// rune returns the rune of a text at a position as the literal compares it (gap for white space), and where it ends.
func (l *literal) rune(text string, i int) (rune, int) {
	r, size := utf8.DecodeRuneInString(text[i:])
	switch {
	case unicode.IsSpace(r):
		r = gap
	case !l.exact:
		r = word.Fold(r)
	}
	return r, i + size
}
