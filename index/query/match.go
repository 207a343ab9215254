package query

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/internal/sorting"
)

// marksMost limits the occurrences in one text that are marked or counted.
const marksMost = 64

// Text is one of the texts of an entry.
type Text struct {
	Field Field
	Text  string
}

// Match describes where an entry matches.
type Match struct {
	// Text is the index of the text that shows the match best: the first of those in which most terms occur.
	Text int
	// Marks are the occurrences in that text, [from, to) in bytes, sorted and disjoint.
	Marks [][2]int
	// Focus is the index of the mark near which most terms occur; a snippet shows the text around it.
	Focus int
}

// Match reports whether an entry with these texts matches, and where.
func (q *Query) Match(texts []Text) (Match, bool) {
	if !q.Occurs(texts) || slices.ContainsFunc(q.nots, func(t *term) bool { return q.occurs(t, texts) }) {
		return Match{}, false
	}
	// Searching once more costs less than recording it for all entries that do not match.
	best, most := 0, 0
	for i, text := range texts {
		if len(texts) == 1 {
			break // there is no choice
		}
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
	m := Match{Text: best}
	m.Marks, m.Focus = q.marks(texts[best].Text)
	return m, true
}

// Occurs reports whether every required term occurs. More texts never make it false.
func (q *Query) Occurs(texts []Text) bool {
	return !slices.ContainsFunc(q.terms, func(t *term) bool { return !q.occurs(t, texts) })
}

func (q *Query) occurs(t *term, texts []Text) bool {
	return slices.ContainsFunc(texts, func(text Text) bool { return text.Field&q.opt.Fields != 0 && t.in(text.Text) })
}

// occurrence is an occurrence of a term.
type occurrence struct{ start, end, term int }

// marks returns where the terms occur in a text, and the mark after which most of them occur together.
func (q *Query) marks(text string) (marks [][2]int, focus int) {
	var all []occurrence
	for i, t := range q.terms {
		t.each(text, func(start, end int) { all = append(all, occurrence{start, end, i}) })
	}
	sorting.By(all, func(a, b occurrence) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end)) })
	most := 0
	for i, o := range all {
		// Overlapping and adjacent occurrences become one mark.
		if n := len(marks); n > 0 && o.start <= marks[n-1][1] {
			marks[n-1][1] = max(marks[n-1][1], o.end)
		} else {
			marks = append(marks, [2]int{o.start, o.end})
		}
		if n := together(all[i:]); n > most {
			focus, most = len(marks)-1, n
		}
	}
	return marks, focus
}

// together counts the different terms that begin near the first occurrence.
func together(all []occurrence) int {
	const near = 100 // bytes, about what is shown after a mark
	seen := map[int]bool{}
	for _, o := range all {
		if o.start > all[0].start+near {
			break
		}
		seen[o.term] = true
	}
	return len(seen)
}

// each calls found with up to marksMost occurrences of a term that do not overlap. It skips empty matches of an expression, which show
// nothing.
func (t *term) each(text string, found func(start, end int)) {
	if t.re != nil {
		for _, at := range t.re.FindAllStringIndex(text, marksMost) {
			if at[0] < at[1] {
				found(at[0], at[1])
			}
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

// Count returns how often each term occurs in an entry, and the length of its texts.
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

// Snippet returns a part of a text around a match: one line of about width characters, with white space collapsed and … where something was
// cut. moved are the marks in that part, in bytes.
func Snippet(text string, m Match, width int) (piece string, moved [][2]int) {
	from, marks := 0, m.Marks
	if len(marks) > 0 {
		// A third of the width is for text before the mark: the text after it is more informative.
		from = back(text, marks[m.Focus][0], width/3)
		// Skip marks before the part; the one in focus is never skipped.
		for marks[0][1] <= from && len(marks) > 1 {
			marks = marks[1:]
		}
	}
	to := forward(text, from, width)
	var b strings.Builder
	if from > 0 {
		b.WriteString("…")
	}
	space := b.Len() > 0 // no space at the beginning
	start := -1
	for i := from; i < to; {
		r, n := utf8.DecodeRuneInString(text[i:])
		if len(marks) > 0 && start < 0 && i >= marks[0][0] {
			start = b.Len()
		}
		switch {
		case !unicode.IsSpace(r):
			b.WriteString(text[i : i+n])
			space = false
		case !space:
			b.WriteByte(' ')
			space = true
		}
		i += n
		for len(marks) > 0 && i >= marks[0][1] {
			if start >= 0 {
				moved = append(moved, [2]int{start, b.Len()})
			}
			start, marks = -1, marks[1:]
		}
	}
	if start >= 0 && b.Len() > start {
		moved = append(moved, [2]int{start, b.Len()}) // the mark continues after the part
	}
	if to < len(text) {
		b.WriteString("…")
	}
	return b.String(), moved
}

// back goes n characters back, and a little farther to the beginning of a word. White space counts as one character.
func back(text string, at, n int) int {
	for space := false; n > 0 && at > 0; {
		r, size := utf8.DecodeLastRuneInString(text[:at])
		at -= size
		if !space || !unicode.IsSpace(r) {
			n--
		}
		space = unicode.IsSpace(r)
	}
	// At most a dozen characters: base64 has no beginning of a word.
	for near := 12; near > 0 && at > 0; near-- {
		r, size := utf8.DecodeLastRuneInString(text[:at])
		if unicode.IsSpace(r) {
			break
		}
		at -= size
	}
	return at
}

// forward goes n characters forward, counted in the same way.
func forward(text string, at, n int) int {
	for space := false; n > 0 && at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		at += size
		if !space || !unicode.IsSpace(r) {
			n--
		}
		space = unicode.IsSpace(r)
	}
	return at
}
