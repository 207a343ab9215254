package index

import (
	"cmp"
	"slices"
)

// marksMost is how many occurrences in one text are marked or counted: more do not help anybody.
const marksMost = 64

// Text is one of the texts of an entry.
type Text struct {
	Field Field
	Text  string
}

// Match says where an entry matches.
type Match struct {
	// Text is the text that shows it best: the first of those in which most terms occur.
	Text int
	// Marks are the occurrences in it, [from, to) in bytes, in order and apart from each other.
	Marks [][2]int
}

// Match says whether an entry with these texts matches, and where.
func (q *Query) Match(texts []Text) (Match, bool) {
	for _, t := range q.terms {
		if !q.occurs(t, texts) {
			return Match{}, false
		}
	}
	for _, t := range q.nots {
		if q.occurs(t, texts) {
			return Match{}, false
		}
	}
	best, most := 0, 0
	for i, text := range texts {
		if text.Field&q.opt.Fields == 0 {
			continue
		}
		n := 0
		for _, t := range q.terms {
			if t.in(text.Text) {
				n++
			}
		}
		if n > most {
			best, most = i, n
		}
		if most == len(q.terms) {
			break
		}
	}
	return Match{Text: best, Marks: q.marks(texts[best].Text)}, true
}

func (q *Query) occurs(t *term, texts []Text) bool {
	for _, text := range texts {
		if text.Field&q.opt.Fields != 0 && t.in(text.Text) {
			return true
		}
	}
	return false
}

// marks gives where the terms occur in a text.
func (q *Query) marks(text string) [][2]int {
	var all [][2]int
	for _, t := range q.terms {
		t.each(text, func(start, end int) { all = append(all, [2]int{start, end}) })
	}
	slices.SortFunc(all, func(a, b [2]int) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	out := all[:0]
	for _, m := range all {
		if n := len(out); n > 0 && m[0] <= out[n-1][1] {
			out[n-1][1] = max(out[n-1][1], m[1])
			continue
		}
		out = append(out, m)
	}
	return out
}

// each goes through the occurrences of a term that do not overlap, up to marksMost.
func (t *term) each(text string, found func(start, end int)) {
	if t.re != nil {
		for _, at := range t.re.FindAllStringIndex(text, marksMost) {
			found(at[0], at[1])
		}
		return
	}
	for n, at := 0, 0; n < marksMost; n++ {
		start, end := t.lit.find(text, at)
		if start < 0 {
			return
		}
		found(start, end)
		at = end
	}
}

// Count gives how often each term occurs in an entry, and how long its texts are.
func (q *Query) Count(texts []Text) (counts []int, length int) {
	counts = make([]int, len(q.terms))
	for _, text := range texts {
		if text.Field&q.opt.Fields == 0 {
			continue
		}
		length += len(text.Text)
		for i, t := range q.terms {
			t.each(text.Text, func(int, int) { counts[i]++ })
		}
	}
	return counts, length
}
