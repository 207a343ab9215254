package query

import (
	"slices"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/index/word"
)

// Signature is what an index keeps of a chunk of a log instead of its text. Each method may wrongly return true, but never wrongly false.
// The keys are those of package word.
type Signature interface {
	// Unknown reports whether the signature excludes nothing.
	Unknown() bool
	// HasWord reports whether a word may occur, by its word.Key.
	HasWord(key uint64) bool
	// HasGram reports whether a trigram, a phrase or a single character may occur, by its key.
	HasGram(key uint64) bool
	// HasBigram reports whether a bigram occurs, by its word.ASCIIBigram.
	HasBigram(g int) bool
}

// filter is what a signature must have: all of words, grams, bigrams and confirm, all that subs demand, and what one of each of anys
// demands. The zero value demands nothing.
type filter struct {
	words, grams []uint64
	bigrams      []int
	confirm      []uint64 // trigrams of words; checked last, since the key of a word excludes most
	subs         []filter
	anys         [][]filter
	// ascii and wide are grams in another form; see Keys. ascii has the numbers of ASCII trigrams, wide the keys of other characters, of
	// phrases, and of rows of characters whose trigrams are not in ascii.
	ascii []int
	wide  []uint64
}

// Keys are what a chunk must have, for an index that can look chunks up by them: all of Words and Grams, and one of each of Anys. An index
// that checks only some of them finds chunks that do not match, but misses none.
type Keys struct {
	// Words are the keys of words, of phrases, of rows of five characters, and of characters beyond ASCII; see package word.
	Words []uint64
	// Grams are the numbers of ASCII trigrams, see word.ASCIIGram, and word.Bigrams plus those of bigrams. Trigrams of words and of rows
	// of five characters are not among them.
	Grams []int
	Anys  [][]Keys
}

// Keys returns the keys of all terms that must occur. A chunk that was too large for keys may match all the same.
func (q *Query) Keys() Keys { return q.filter.keys() }

// TermKeys returns the Keys of each term alone.
func (q *Query) TermKeys() (list []Keys) {
	for i := range q.filter.subs { // compile makes one filter for each term
		list = append(list, q.filter.subs[i].keys())
	}
	return list
}

func (f *filter) keys() (k Keys) {
	k.Words = slices.Concat(f.words, f.wide)
	k.Grams = slices.Clone(f.ascii)
	for _, g := range f.bigrams {
		k.Grams = append(k.Grams, word.Bigrams+g)
	}
	for i := range f.subs {
		sub := f.subs[i].keys()
		k.Words, k.Grams, k.Anys = append(k.Words, sub.Words...), append(k.Grams, sub.Grams...), append(k.Anys, sub.Anys...)
	}
	for _, any := range f.anys {
		var list []Keys
		for i := range any {
			list = append(list, any[i].keys())
		}
		k.Anys = append(k.Anys, list)
	}
	return k
}

// May reports whether a chunk may contain an entry that matches. Excluded terms are not checked: a chunk that has one may contain other
// entries that match.
func (q *Query) May(s Signature) bool {
	return s.Unknown() || q.filter.may(s) && q.filter.confirmed(s)
}

// CountTerms adds 1 to the count of each term that may occur in a chunk. counts has Terms elements.
func (q *Query) CountTerms(s Signature, counts []int) {
	for i := range q.filter.subs { // compile makes one filter for each term
		if s.Unknown() || q.filter.subs[i].may(s) {
			counts[i]++
		}
	}
}

func (f *filter) may(s Signature) bool {
	for _, k := range f.words {
		if !s.HasWord(k) {
			return false
		}
	}
	for _, k := range f.grams {
		if !s.HasGram(k) {
			return false
		}
	}
	for _, g := range f.bigrams {
		if !s.HasBigram(g) {
			return false
		}
	}
	for i := range f.subs {
		if !f.subs[i].may(s) {
			return false
		}
	}
	for _, any := range f.anys {
		if !slices.ContainsFunc(any, func(f filter) bool { return f.may(s) }) {
			return false
		}
	}
	return true
}

// confirmed also checks the trigrams of words, which removes false positives of the words' keys.
func (f *filter) confirmed(s Signature) bool {
	return !slices.ContainsFunc(f.confirm, func(k uint64) bool { return !s.HasGram(k) }) &&
		!slices.ContainsFunc(f.subs, func(sub filter) bool { return !sub.confirmed(s) })
}

// filter returns the keys of every text in which the literal occurs.
func (l *literal) filter() (f filter) {
	for i, piece := range l.pieces {
		// White space is a boundary.
		f.piece(piece, l.left || i > 0, l.right || i < len(l.pieces)-1)
		if i > 0 {
			f.phrase(l.pieces[i-1], piece, l.left || i > 1, l.right || i < len(l.pieces)-1)
		}
	}
	return f
}

// phrase adds the key of the two runs around a white space. A run of fewer than three characters has a key only if it is a
// row of whole humps, with a boundary at its other end: otherwise the text has further characters there, which the signer
// has seen and the query does not know.
func (f *filter) phrase(before, after []rune, boundLeft, boundRight bool) {
	i := len(before)
	for i > 0 && word.IsChar(before[i-1]) {
		i--
	}
	j := 0
	for j < len(after) && word.IsChar(after[j]) {
		j++
	}
	left, right := foldAll(before[i:]), foldAll(after[:j])
	if len(left) == 0 || len(right) == 0 ||
		len(left) < 3 && i == 0 && !boundLeft || len(right) < 3 && j == len(after) && !boundRight {
		return
	}
	key := word.PhraseKey(word.Tail(left), word.Head(right))
	f.grams, f.wide = append(f.grams, key), append(f.wide, key)
}

func foldAll(runes []rune) []rune {
	folded := make([]rune, len(runes))
	for i, r := range runes {
		folded[i] = word.Fold(r)
	}
	return folded
}

// piece adds the keys of a piece of text. left and right: there is a boundary at that end. A run with a boundary at both ends is a word, a
// row of whole humps; of other runs only the trigrams are known.
func (f *filter) piece(piece []rune, left, right bool) {
	folded := foldAll(piece)
	last := rune(-1)
	for i := 0; i < len(folded); {
		r := folded[i]
		if !word.IsChar(r) {
			// ASCII punctuation has no key: every chunk has all of it.
			if r < utf8.RuneSelf {
				last = -1
			} else {
				f.wide = append(f.wide, word.SingleKey(r))
				f.grams = append(f.grams, word.SingleKey(r))
				if last >= 0 {
					f.wide = append(f.wide, word.PairKey(last, r))
					f.grams = append(f.grams, word.PairKey(last, r))
				}
				last = r
			}
			i++
			continue
		}
		last = -1
		j := i
		for j < len(folded) && word.IsChar(folded[j]) {
			j++
		}
		run := folded[i:j]
		whole := (i > 0 || left) && (j < len(folded) || right)
		grams := &f.grams
		if whole {
			f.words = append(f.words, word.Key([]byte(string(run))))
			grams = &f.confirm
		}
		longs := longKeys(run)
		if !whole {
			f.wide = append(f.wide, longs...)
		}
		for k := 2; k < len(run); k++ {
			key := word.GramKey(run[k-2], run[k-1], run[k])
			*grams = append(*grams, key)
			switch g, ok := word.ASCIIGram(run[k-2], run[k-1], run[k]); {
			case whole || ok && longs != nil: // the key of the word, or of a row of characters, excludes more
			case ok:
				f.ascii = append(f.ascii, g)
			default:
				f.wide = append(f.wide, key)
			}
		}
		// A single character has no key: it occurs everywhere.
		if len(run) == 2 {
			if g, ok := word.ASCIIBigram(run[0], run[1]); ok {
				f.bigrams = append(f.bigrams, g)
			}
		}
		i = j
	}
}

// longKeys returns the keys of the rows of five characters in a folded run; nil if it is shorter, or not all of it is ASCII.
func longKeys(run []rune) (keys []uint64) {
	row := uint64(0)
	for i, r := range run {
		if r >= utf8.RuneSelf {
			return nil
		}
		row = row>>8 | uint64(r)<<(8*(word.Long-1))
		if i >= word.Long-1 {
			keys = append(keys, word.LongKey(row))
		}
	}
	return keys
}
