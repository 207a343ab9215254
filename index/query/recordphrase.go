package query

import (
	"unicode"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// rawPhrase is a phrase in a record: pieces with white space, as JSON spells it, between them. The record is searched for
// one of them, the anchor; the others must be beside it.
type rawPhrase struct {
	pieces []needle
	anchor int
}

// newRawPhrase makes one needle of a phrase if each of its pieces is one needle; ok is false for other phrases.
func newRawPhrase(pieces []rawTerm) (n needle, ok bool) {
	p := &rawPhrase{}
	for _, t := range pieces {
		// The bytes between two needles of one piece are unknown, so their neighbours are unknown, too.
		if len(t.needles) != 1 || !t.needles[0].all {
			return n, false
		}
		p.pieces = append(p.pieces, t.needles[0])
	}
	common := 1.0
	for i := range p.pieces {
		common *= p.pieces[i].common
		if p.pieces[i].common < p.pieces[p.anchor].common {
			p.anchor = i
		}
	}
	n = p.pieces[p.anchor]
	n.phrase, n.common = p, common
	return n, true
}

// around reports whether the other pieces may be beside the anchor at [from, to). It is also true if white space is spelled in an unusual
// way.
func (p *rawPhrase) around(b []byte, from, to int) bool {
	for i := p.anchor + 1; i < len(p.pieces); i++ {
		at, sure := spaceAfter(b, to)
		if !sure {
			break
		}
		piece := &p.pieces[i]
		// at == to: adjacent pieces are not a phrase.
		if at == to || at+len(piece.low) > len(b) || !piece.stands(b, at) {
			return false
		}
		if to = at + len(piece.low); piece.right && !mayEnd(b, to) {
			return false
		}
	}
	for i := p.anchor - 1; i >= 0; i-- {
		at, sure := spaceBefore(b, from)
		if !sure {
			break
		}
		piece := &p.pieces[i]
		start := at - len(piece.low)
		if at == from || start < 0 || !piece.stands(b, start) || piece.left && !mayBegin(b, start) {
			return false
		}
		from = start
	}
	return true
}

// spaceAfter returns the end of the white space that begins at a position. sure is false if there may be more of it: beside
// an escape with digits that may be white space, or part of another escape.
func spaceAfter(b []byte, at int) (end int, sure bool) {
	for at < len(b) {
		switch c := b[at]; {
		case c == ' ':
			at++
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRune(b[at:])
			if !unicode.IsSpace(r) {
				return at, true
			}
			at += n
		case c == '\\':
			// JSON inside a string has its backslashes doubled.
			letter := at + 1
			for letter < len(b) && b[letter] == '\\' {
				letter++
			}
			switch {
			case letter == len(b):
				return at, false
			case b[letter] == 'u':
				return at, isSolid(b[letter-1:])
			case !isSpaceLetter(b[letter]):
				return at, true
			}
			at = letter + 1
		default:
			return at, true
		}
	}
	return at, true
}

// spaceBefore is spaceAfter in the other direction.
func spaceBefore(b []byte, at int) (start int, sure bool) {
	const escape = len(`\u0000`)
	for at > 0 {
		switch c := b[at-1]; {
		case c == ' ':
			at--
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeLastRune(b[:at])
			if !unicode.IsSpace(r) {
				return at, true
			}
			at -= n
		case at >= escape && b[at-escape] == '\\' && b[at-escape+1] == 'u':
			return at, isSolid(b[at-escape:])
		case isSpaceLetter(c) && at >= 2 && b[at-2] == '\\':
			letter := at - 1
			for at = letter; at > 0 && b[at-1] == '\\'; {
				at--
			}
			// An even number of backslashes is white space in JSON inside a string, and a backslash before a letter elsewhere.
			if (letter-at)%2 == 0 {
				return at, false
			}
		default:
			return at, true
		}
	}
	return at, true
}

// isSolid reports whether the escape with digits at the beginning of b certainly stands for something other than white space. A
// backslash or a letter may be part of another escape, in JSON inside a string.
func isSolid(b []byte) bool {
	r, n := rawjson.Escape(b)
	return n == len(`\u0000`) && (r < ' ' || r >= utf8.RuneSelf) && r != utf8.RuneError && !unicode.IsSpace(r)
}

// isSpaceLetter reports whether a backslash and this letter are white space.
func isSpaceLetter(c byte) bool { return c == 'n' || c == 't' || c == 'r' || c == 'f' }
