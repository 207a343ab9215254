package index

import "unicode/utf8"

// filter says which keys a signature must have: all of keys, what all of subs ask for, and what one of each of anys asks
// for. The zero value asks for nothing.
type filter struct {
	keys []filterKey
	subs []filter
	anys [][]filter
}

type filterKey struct {
	hash   uint64
	probes int
}

// May says whether a chunk with this signature may hold an entry that matches. A signature that we do not know may.
func (q *Query) May(sig []byte) bool {
	if len(sig) == 0 || sig[0]&0xf0 != sigVersion || sig[0]&flagAll != 0 {
		return true
	}
	return q.filter.may(sig[1:])
}

// CountTerms adds one for each term that may occur in a chunk with this signature.
func (q *Query) CountTerms(sig []byte, counts []int) {
	all := len(sig) == 0 || sig[0]&0xf0 != sigVersion || sig[0]&flagAll != 0
	for i := range q.filter.subs {
		if all || q.filter.subs[i].may(sig[1:]) {
			counts[i]++
		}
	}
}

// Selective says whether signatures can tell anything about the query: one that is not makes a search read everything.
func (q *Query) Selective() bool { return q.filter.selective() }

func (f *filter) may(bitmap []byte) bool {
	for _, k := range f.keys {
		if !hasKey(bitmap, k.hash, k.probes) {
			return false
		}
	}
	for i := range f.subs {
		if !f.subs[i].may(bitmap) {
			return false
		}
	}
	for _, any := range f.anys {
		found := false
		for i := range any {
			if any[i].may(bitmap) {
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

func (f *filter) selective() bool {
	if len(f.keys) > 0 {
		return true
	}
	for i := range f.subs {
		if f.subs[i].selective() {
			return true
		}
	}
	for _, any := range f.anys {
		all := len(any) > 0
		for i := range any {
			all = all && any[i].selective()
		}
		if all {
			return true
		}
	}
	return false
}

// filter gives the keys that a text must have in which the literal occurs.
func (l *literal) filter() (f filter) {
	for i, piece := range l.pieces {
		// White space is a boundary.
		f.piece(piece, l.left || i > 0, l.right || i < len(l.pieces)-1)
	}
	return f
}

// piece adds the keys of a piece of text. left and right say whether there is a boundary at its ends.
//
// A run in it is a word of the text, a row of whole humps, where it has a boundary at both ends: of those inside the piece
// we know, since what stands beside them there stands beside them in the text. Of other runs the trigrams are known.
func (f *filter) piece(piece []rune, left, right bool) {
	folded := make([]rune, len(piece))
	for i, r := range piece {
		folded[i] = fold(r)
	}
	last := rune(-1)
	for i := 0; i < len(folded); {
		r := folded[i]
		if !isWord(r) {
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
		if (i > 0 || left) && (j < len(folded) || right) {
			f.keys = append(f.keys, filterKey{wordKey([]byte(string(run))), wordProbes})
		} else {
			for k := 2; k < len(run); k++ {
				f.keys = append(f.keys, filterKey{anyGramKey(run[k-2], run[k-1], run[k]), gramProbes})
			}
		}
		i = j
	}
}
