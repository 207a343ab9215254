// Package diff compares two texts line by line, and reads patches: unified diffs, and those that begin with
// "*** Begin Patch".
package diff

import (
	"fmt"
	"strings"
)

// Op is what happens to a line.
type Op uint8

// The ops.
const (
	Same Op = iota
	Removed
	Added
)

// Line is a line of a hunk, without its newline.
type Line struct {
	Op   Op
	Text string
	// NoNewline: the line is the last one of its text and has no newline.
	NoNewline bool
}

// Hunk is a stretch of changed lines with the lines around them.
type Hunk struct {
	// OldLine and NewLine are the numbers of the first line in the old and in the new text, from 1. Both are 0 if only a piece of the text
	// is known. A text without lines has line 0.
	OldLine, NewLine int
	// Section is the place according to the patch, such as the name of a function; "" if it names none.
	Section string
	Lines   []Line
}

// Count returns the numbers of added and of removed lines.
func Count(hunks []Hunk) (added, removed int) {
	for _, h := range hunks {
		for _, l := range h.Lines {
			switch l.Op {
			case Added:
				added++
			case Removed:
				removed++
			}
		}
	}
	return added, removed
}

// Texts returns the two texts of a hunk: the lines before the change and those after it.
func (h Hunk) Texts() (before, after string) {
	var b, a strings.Builder
	for _, l := range h.Lines {
		text := l.Text
		if !l.NoNewline {
			text += "\n"
		}
		if l.Op != Added {
			b.WriteString(text)
		}
		if l.Op != Removed {
			a.WriteString(text)
		}
	}
	return b.String(), a.String()
}

// Compare returns the changes from one text to another, each with up to context lines before and after it. It returns none for equal texts.
// For texts that differ in very many places the result is correct but not the shortest.
func Compare(before, after string, context int) []Hunk {
	if before == after {
		return nil
	}
	a, b := split(before), split(after)
	var hunks []Hunk
	i := 0 // lines of the old text that are covered
	for _, c := range changes(a, b) {
		from := max(c.a-context, i)
		if n := len(hunks); n == 0 || from > i {
			hunks = append(hunks, Hunk{OldLine: from + 1, NewLine: c.b - (c.a - from) + 1})
		}
		h := &hunks[len(hunks)-1]
		h.add(Same, a[from:c.a])
		h.add(Removed, a[c.a:c.a+c.removed])
		h.add(Added, b[c.b:c.b+c.added])
		i = c.a + c.removed
		// As far as the context extends. If the next change is nearer, it continues this hunk.
		end := min(i+context, len(a), i+c.same)
		h.add(Same, a[i:end])
		i = end
	}
	for n := range hunks {
		hunks[n].number()
	}
	return hunks
}

// number sets a line number to that of the line before if the hunk has no lines of that text.
func (h *Hunk) number() {
	before, after := h.Texts()
	if before == "" {
		h.OldLine--
	}
	if after == "" {
		h.NewLine--
	}
}

func (h *Hunk) add(op Op, lines []string) {
	for _, l := range lines {
		text, newline := strings.CutSuffix(l, "\n")
		h.Lines = append(h.Lines, Line{op, text, !newline})
	}
}

// split returns the lines of a text, each with its newline. The last may have none.
func split(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// Append writes hunks as a unified diff, without the two lines that name the files. Hunks without line numbers begin with "@@" alone.
func Append(dst []byte, hunks []Hunk) []byte {
	for _, h := range hunks {
		dst = append(dst, "@@"...)
		if h.OldLine > 0 || h.NewLine > 0 {
			dst = fmt.Appendf(dst, " -%d,%d +%d,%d @@", h.OldLine, h.count(Added), h.NewLine, h.count(Removed))
		}
		if h.Section != "" {
			dst = append(append(dst, ' '), h.Section...)
		}
		dst = append(dst, '\n')
		for _, l := range h.Lines {
			dst = append(append(append(dst, " -+"[l.Op]), l.Text...), '\n')
			if l.NoNewline {
				dst = append(dst, "\\ No newline at end of file\n"...)
			}
		}
	}
	return dst
}

// count counts the lines that are not of one op.
func (h *Hunk) count(without Op) (n int) {
	for _, l := range h.Lines {
		if l.Op != without {
			n++
		}
	}
	return n
}
