package query

import (
	"bytes"
	"regexp/syntax"
	"slices"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/index/word"
	"github.com/treeline-dev/treeline/internal/rawjson"
)

// A record is searched without decoding it: the text of an entry is in its record as JSON, so a record without the letters
// of a term cannot match. This holds for characters with only one spelling in JSON. A record that spells one of them as \u
// and four digits is decoded.

// rawQuery is what a record must contain.
type rawQuery struct {
	terms []rawTerm
	autos []*automatons // of the terms that are expressions
	// driver is the rarest needle that must occur; nil if there is none.
	driver *needle
	// wide: some needles go beyond ASCII, so escapes of such characters matter.
	wide bool
	// odd: characters beyond ASCII that fold to k or s matter.
	odd bool
}

// rawTerm is what one term requires: all needles, and one of each of anys.
type rawTerm struct {
	needles []needle
	anys    [][]rawTerm
}

func newRawQuery(terms []*term, exact bool) (q rawQuery) {
	for _, t := range terms {
		if t.lit != nil {
			q.terms = append(q.terms, q.literal(t.lit, exact))
		} else {
			q.terms = append(q.terms, q.regexp(t.tree))
			q.autos = append(q.autos, t.auto)
		}
	}
	for i := range q.terms {
		for j := range q.terms[i].needles {
			if n := &q.terms[i].needles[j]; q.driver == nil || n.common < q.driver.common {
				q.driver = n
			}
		}
	}
	return q
}

func (q *rawQuery) literal(l *literal, exact bool) (t rawTerm) {
	pieces := make([]rawTerm, len(l.pieces))
	for i, piece := range l.pieces {
		pieces[i].add(q, piece, exact, l.left || i > 0, l.right || i < len(l.pieces)-1)
		t.needles = append(t.needles, pieces[i].needles...)
	}
	if len(pieces) > 1 {
		if n, ok := newRawPhrase(pieces); ok {
			t.needles = []needle{n}
		}
	}
	return t
}

func (q *rawQuery) regexp(re *syntax.Regexp) (t rawTerm) {
	eachRequired(re, func(lit *syntax.Regexp) {
		t.add(q, lit.Rune, lit.Flags&syntax.FoldCase == 0, false, false)
	}, func(choices []*syntax.Regexp) {
		// An alternative that requires nothing is an empty term, which every record has, so the choice excludes nothing.
		var any []rawTerm
		for _, c := range choices {
			any = append(any, q.regexp(c))
		}
		t.anys = append(t.anys, any)
	})
	return t
}

// add adds the needles of a piece of text. Characters with several spellings in JSON separate needles.
func (t *rawTerm) add(q *rawQuery, piece []rune, exact, left, right bool) {
	var n needle
	flush := func(end int) {
		if len(n.low) > 0 {
			n.right = right && end == len(piece)
			n.all = n.begin == 0 && end == len(piece)
			n.choose()
			t.needles = append(t.needles, n)
		}
		n = needle{}
	}
	for i, r := range piece {
		low, high, ok := spellings(r, exact)
		if !ok {
			flush(i)
			continue
		}
		if len(n.low) == 0 {
			n.left, n.begin = left && i == 0, i
		}
		n.low, n.high = append(n.low, low...), append(n.high, high...)
		q.wide = q.wide || r >= utf8.RuneSelf
		q.odd = q.odd || !exact && (low[0] == 'k' || low[0] == 's')
	}
	flush(len(piece))
}

// spellings returns the bytes of a character in a record: at each position one of low or one of high. ok is false for a
// character with more spellings.
func spellings(r rune, exact bool) (low, high []byte, ok bool) {
	switch {
	case r < utf8.RuneSelf:
		c := byte(r)
		// Only what JSON writers never escape: quotes, backslashes and control characters must be escaped, and some writers
		// escape /, <, > and & as well.
		if word.ClassOf(c)&word.ASCII == 0 && c != '_' && c != '-' && c != '.' {
			return nil, nil, false
		}
		if f := word.Fold(r); !exact && 'a' <= f && f <= 'z' {
			return []byte{byte(f)}, []byte{byte(f) - 'a' + 'A'}, true
		}
		return []byte{c}, []byte{c}, true
	case r == utf8.RuneError:
		return nil, nil, false // invalid UTF-8, or half a surrogate pair
	}
	list := variants(r, exact)
	low = utf8.AppendRune(nil, list[0])
	high = low
	for _, v := range list[1:] {
		other := utf8.AppendRune(nil, v)
		// A needle has two spellings of the same length at each position. A character with three (Σ, σ and ς) or with
		// another length is not part of it.
		if len(other) != len(low) || len(list) > 2 {
			return nil, nil, false
		}
		high = other
	}
	return low, high, true
}

// needle is a text that must occur in a record.
type needle struct {
	low, high []byte
	// left and right: there must be a boundary at its ends.
	left, right bool
	// begin is where it begins in its piece of the term; all says that it is the whole piece.
	begin int
	all   bool
	// phrase, if set, must be around it.
	phrase *rawPhrase

	pair   rawjson.Pair
	at     int     // where the pair is in the needle
	common float64 // estimated frequency
}

// choose selects the two rarest bytes as the pair to search for.
func (n *needle) choose() {
	n.common = 1
	best, second := -1, -1
	often := func(i int) float64 {
		f := frequency[n.low[i]]
		if n.high[i] != n.low[i] {
			f += frequency[n.high[i]]
		}
		return f
	}
	for i := range n.low {
		f := often(i)
		n.common *= f
		switch {
		case best < 0 || f < often(best):
			best, second = i, best
		case second < 0 || f < often(second):
			second = i
		}
	}
	if second < 0 {
		second = best
	}
	first, last := min(best, second), max(best, second)
	n.at = first
	n.pair = rawjson.Pair{
		First: [2]byte{n.low[first], n.high[first]}, Second: [2]byte{n.low[last], n.high[last]}, Distance: last - first,
	}
}

// frequency estimates how often a byte occurs in logs. It affects only the speed.
var frequency = func() (t [256]float64) {
	for i := range t {
		t[i] = 0.0008
	}
	const text = "  eeeeeeeeetttttttaaaaaaoooooonnnnnniiiiiisssssrrrrrrhhhlllldddduuucccmmmppffggyybbwwvk\"\"\"\"\"\"\\\\\\\\::,,..//__"
	for i := range len(text) {
		t[text[i]] += 1.0 / float64(len(text))
	}
	for c := '0'; c <= '9'; c++ {
		t[c] = 0.008
	}
	return t
}()

// index returns the first position at or after from where the needle may occur; -1 if there is none.
func (n *needle) index(b []byte, from int) int {
	for from+len(n.low) <= len(b) {
		at := n.pair.Index(b, from+n.at)
		if at < 0 {
			return -1
		}
		at -= n.at
		if at+len(n.low) > len(b) {
			return -1
		}
		end := at + len(n.low)
		if n.stands(b, at) && (!n.left || mayBegin(b, at)) && (!n.right || mayEnd(b, end)) &&
			(n.phrase == nil || n.phrase.around(b, at, end)) {
			return at
		}
		from = at + 1
	}
	return -1
}

func (n *needle) stands(b []byte, at int) bool {
	b = b[at : at+len(n.low)]
	for i, c := range n.low {
		if b[i] != c && b[i] != n.high[i] {
			return false
		}
	}
	return true
}

// mayBegin reports whether a word may begin at a position of a record. It is false only between ASCII letters and digits, if no
// hump can be between them and no escape ends there ("\nword").
func mayBegin(b []byte, at int) bool {
	if at == 0 || word.ClassOf(b[at-1])&word.ASCII == 0 || word.ClassOf(b[at])&(word.Lower|word.Digit) == 0 {
		return true
	}
	const escape = len(`\u0000`)
	return bytes.IndexByte(b[max(0, at-escape):at], '\\') >= 0
}

// mayEnd reports whether a word may end at a position of a record. An escape begins with a backslash, which is not a letter.
func mayEnd(b []byte, at int) bool {
	return at >= len(b) || word.ClassOf(b[at-1])&word.ASCII == 0 || word.ClassOf(b[at])&(word.Lower|word.Digit) == 0
}

// Scan calls yield with the records in data, one per line, that may match; it never skips one that matches. odd is Chunk.Odd
// of the chunk, or OddText of data. A record is [from, to), without the newline. The rarest needle leads: everything up to
// its next occurrence, or to an escape that may hide one, is skipped.
func (q *Query) Scan(data []byte, odd bool, yield func(from, to int) bool) {
	all := odd && q.raw.odd
	hit, escape := -1, -1 // the next of each, at or after from
	for from := 0; from < len(data); {
		if !all && q.raw.driver != nil {
			if hit < from {
				if hit = q.raw.driver.index(data, from); hit < 0 {
					hit = len(data)
				}
			}
			if escape < from {
				escape = q.raw.escape(data, from)
			}
			next := min(hit, escape)
			if next == len(data) {
				return
			}
			// Back to the beginning of the record with the hit.
			from += bytes.LastIndexByte(data[from:next], '\n') + 1
		}
		to := len(data)
		if i := bytes.IndexByte(data[from:], '\n'); i >= 0 {
			to = from + i
		}
		if all || q.raw.may(data[from:to]) {
			if !yield(from, to) {
				return
			}
		}
		from = to + 1
	}
}

// MayRecord reports whether a record may match.
func (q *Query) MayRecord(record []byte) bool {
	return q.raw.odd && OddText(record) || q.raw.may(record)
}

// OddText reports whether data contain a character beyond ASCII that folds to an ASCII letter. See index.Chunk.Odd.
func OddText(data []byte) bool {
	return bytes.Contains(data, []byte("\u212a")) || bytes.Contains(data, []byte("\u017f"))
}

// may reports whether a record without odd characters may match.
func (q *rawQuery) may(record []byte) bool {
	for i := range q.terms {
		if !q.terms[i].in(record) {
			if q.escape(record, 0) == len(record) {
				return false
			}
			break // the text that was not found may be spelled with an escape
		}
	}
	for _, a := range q.autos {
		if !a.mayRecord(record) {
			return false
		}
	}
	return true
}

func (t *rawTerm) in(record []byte) bool {
	for i := range t.needles {
		if t.needles[i].index(record, 0) < 0 {
			return false
		}
	}
	for _, any := range t.anys {
		if !slices.ContainsFunc(any, func(t rawTerm) bool { return t.in(record) }) {
			return false
		}
	}
	return true
}

var escapes = rawjson.Pair{First: [2]byte{'\\', '\\'}, Second: [2]byte{'u', 'u'}, Distance: 1}

// escape returns the first position at or after from where an escape may spell a character of a needle; len(b) if there is none.
func (q *rawQuery) escape(b []byte, from int) int {
	for {
		at := escapes.Index(b, from)
		if at < 0 {
			return len(b)
		}
		from = at + 2
		r, n := rawjson.Escape(b[at:])
		if n == 0 {
			continue
		}
		if r >= utf8.RuneSelf && (q.wide || r == 0x212A || r == 0x017F) {
			return at
		}
		if r < utf8.RuneSelf && (word.ClassOf(byte(r))&word.ASCII != 0 || r == '_' || r == '-' || r == '.') {
			return at
		}
	}
}
