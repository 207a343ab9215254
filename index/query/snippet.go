package query

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Snippet returns a part of a text around a match: one line of about width characters, with white space collapsed and …
// where something was cut. moved are the marks in that part, in bytes.
func Snippet(text string, m Match, width int) (piece string, moved [][2]int) {
	from, marks := 0, m.Marks
	if len(marks) > 0 {
		// A third of the width is for text before the mark: what follows says more.
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
		moved = append(moved, [2]int{start, b.Len()}) // it continues after the part
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
