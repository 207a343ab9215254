package query

import (
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// rawPhrase is a phrase as it stands in a record: its pieces one behind the other, with white space as JSON spells it
// between them. One of them, the anchor, is looked for; the others must stand beside it.
type rawPhrase struct {
	pieces []needle
	anchor int
}

// newRawPhrase makes one needle of a phrase each of whose pieces is one; ok is false for others.
func newRawPhrase(pieces []rawTerm) (n needle, ok bool) {
	p := &rawPhrase{}
	for _, t := range pieces {
		// What stands between two needles of one piece is not known here, so nothing can be said of what stands beside
		// them.
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

// around says whether the other pieces may stand beside the anchor, which stands at [from, to). Where white space may be
// spelled in a way that we do not look into, they may.
func (p *rawPhrase) around(b []byte, from, to int) bool {
	for i := p.anchor + 1; i < len(p.pieces); i++ {
		at, sure := spaceBehind(b, to)
		if !sure {
			break
		}
		piece := &p.pieces[i]
		// at == to: two pieces that touch are no phrase.
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

// spaceBehind gives the end of the white space that begins at a place. sure is false where there may be more of it than is
// seen: beside an escape with digits that may be white space, or a part of another escape.
func spaceBehind(b []byte, at int) (end int, sure bool) {
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
			// JSON inside of a string has its backslashes doubled.
			letter := at + 1
			for letter < len(b) && b[letter] == '\\' {
				letter++
			}
			switch {
			case letter == len(b):
				return at, false
			case b[letter] == 'u':
				return at, isSolid(b[letter+1:])
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

// spaceBefore is spaceBehind in the other direction.
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
			return at, isSolid(b[at-escape+2:])
		case isSpaceLetter(c) && at >= 2 && b[at-2] == '\\':
			at -= 2
			for at > 0 && b[at-1] == '\\' {
				at--
			}
		default:
			return at, true
		}
	}
	return at, true
}

// isSolid says whether the four digits of an escape stand for a character that is certainly no white space. A backslash or a
// letter might be a part of another escape, in JSON inside of a string.
func isSolid(digits []byte) bool {
	if len(digits) < 4 {
		return false
	}
	r, ok := hex4(digits[:4])
	return ok && (r < ' ' || r >= utf8.RuneSelf) && !utf16.IsSurrogate(r) && !unicode.IsSpace(r)
}

// isSpaceLetter says whether a letter behind a backslash makes white space.
func isSpaceLetter(c byte) bool { return c == 'n' || c == 't' || c == 'r' || c == 'f' }
