package index

import "unicode/utf8"

// filter says which keys a signature must have: all of keys, twos and also, what all of subs ask for, and what one of each of
// anys asks for. The zero value asks for nothing.
type filter struct {
	keys []filterKey
	twos []int       // bigrams of ASCII
	also []filterKey // trigrams of words: they are asked last, since a word's key mostly says it all
	subs []filter
	anys [][]filter
}

type filterKey struct {
	hash   uint64
	probes int
}

// May says whether a chunk may hold an entry that matches, by its signature. One that we do not know may, and so may one
// that is damaged where it matters. Excluded terms are not asked: a chunk that has one may hold other entries that match.
func (q *Query) May(c *Kept) bool { return c.all() || q.filter.may(c) && q.filter.confirmed(c) }

// CountTerms adds one for each term that may occur in a chunk. There are as many counts as terms; compile makes one of
// filter.subs for each.
func (q *Query) CountTerms(c *Kept, counts []int) {
	for i := range q.filter.subs {
		if c.all() || q.filter.subs[i].may(c) {
			counts[i]++
		}
	}
}

func (f *filter) may(c *Kept) bool {
	for _, k := range f.keys {
		if !c.hasKey(k.hash, k.probes) {
			return false
		}
	}
	for _, g := range f.twos {
		if !c.hasTwo(g) {
			return false
		}
	}
	for i := range f.subs {
		if !f.subs[i].may(c) {
			return false
		}
	}
	for _, any := range f.anys {
		found := false
		for i := range any {
			if any[i].may(c) {
				found = true
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// confirmed asks a chunk that passed for the trigrams of its words, too: some have none of a word that they are taken to have.
func (f *filter) confirmed(c *Kept) bool {
	for _, k := range f.also {
		if !c.hasKey(k.hash, k.probes) {
			return false
		}
	}
	for i := range f.subs {
		if !f.subs[i].confirmed(c) {
			return false
		}
	}
	return true
}

// filter gives the keys that a text must have in which the literal occurs.
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

// phrase adds the key of the two runs at a white space, if it is known what they end and begin with: runs that are shorter
// than what the key is made of must be rows of whole humps: where there is a boundary before, or behind, the two pieces.
func (f *filter) phrase(before, behind []rune, boundLeft, boundRight bool) {
	i := len(before)
	for i > 0 && isWord(before[i-1]) {
		i--
	}
	j := 0
	for j < len(behind) && isWord(behind[j]) {
		j++
	}
	left, right := foldAll(before[i:]), foldAll(behind[:j])
	if len(left) == 0 || len(right) == 0 ||
		len(left) < 3 && i == 0 && !boundLeft || len(right) < 3 && j == len(behind) && !boundRight {
		return
	}
	// A shorter run that is not a whole row of humps has no such key: the text has more characters there, which we do not
	// know, and the signer took three.
	f.keys = append(f.keys, filterKey{phraseKey(tailOf(left), headOf(right)), gramProbes})
}

func foldAll(runes []rune) []rune {
	folded := make([]rune, len(runes))
	for i, r := range runes {
		folded[i] = fold(r)
	}
	return folded
}

// piece adds the keys of a piece of text. left and right say whether there is a boundary at its ends.
//
// A run in it is a word of the text, a row of whole humps, where it has a boundary at both ends: of those inside the piece
// we know, since what stands beside them there stands beside them in the text. The trigrams are known of every run, and are all
// that is known of the others.
func (f *filter) piece(piece []rune, left, right bool) {
	folded := foldAll(piece)
	last := rune(-1)
	for i := 0; i < len(folded); {
		r := folded[i]
		if !isWord(r) {
			// Punctuation of ASCII is in no signature: every chunk has all of it.
			if r < utf8.RuneSelf {
				last = -1
			} else {
				f.keys = append(f.keys, filterKey{singleKey(r), gramProbes})
				if last >= 0 {
					f.keys = append(f.keys, filterKey{pairKey(last, r), gramProbes})
				}
				last = r
			}
			i++
			continue
		}
		last = -1
		j := i
		for j < len(folded) && isWord(folded[j]) {
			j++
		}
		run := folded[i:j]
		word := (i > 0 || left) && (j < len(folded) || right)
		if word {
			f.keys = append(f.keys, filterKey{wordKey([]byte(string(run))), wordProbes})
		}
		for k := 2; k < len(run); k++ {
			key := filterKey{anyGramKey(run[k-2], run[k-1], run[k]), gramProbes}
			if word {
				f.also = append(f.also, key)
			} else {
				f.keys = append(f.keys, key)
			}
		}
		// A single character has no key: it occurs everywhere.
		if len(run) == 2 {
			if g, ok := asciiTwo(run[0], run[1]); ok {
				f.twos = append(f.twos, g)
			}
		}
		i = j
	}
}
