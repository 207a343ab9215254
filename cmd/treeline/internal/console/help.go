package console

import (
	"strings"

	"github.com/treeline-dev/treeline/internal/screen"
)

// Fitted wraps the lines of a help text that are wider than the terminal; width 0 means that there is none. Paragraphs and descriptions of
// flags are filled again. Commands are left as they are, so that they can be copied.
func Fitted(text string, width int) string {
	if width <= 0 {
		return text
	}
	var out, block []string // the lines of a paragraph or of a flag
	tooWide := false
	flush := func() {
		if tooWide {
			block = hanging(strings.Join(block, " "), width)
		}
		out, block, tooWide = append(out, block...), nil, false
	}
	for line := range strings.SplitSeq(text, "\n") {
		deep := len(line) - len(strings.TrimLeft(line, " "))
		wide := screen.Width(line, false) > width
		goesOn := len(block) > 0 && (deep == 0 && block[0] != "" && block[0][0] != ' ' && line != "" || deep > helpIndent)
		if !goesOn {
			flush()
		}
		if goesOn && (wide || tooWide) {
			for i := range block[1:] {
				block[i+1] = strings.TrimLeft(block[i+1], " ")
			}
			line = line[deep:]
		}
		block, tooWide = append(block, line), tooWide || wide
	}
	flush()
	return strings.Join(out, "\n")
}

// helpIndent is the largest indentation of the lines of lists. Lines that are indented further continue the line before.
const helpIndent = 8

// hanging wraps a line. If it is indented, the text after a gap is a column; if that has too little room, it begins on a line of its own.
func hanging(line string, width int) []string {
	text := strings.TrimLeft(line, " ")
	gap := strings.Index(text, "  ")
	switch {
	case text == line:
		return screen.Wrap(line, width)
	case gap < 0: // a command
		return []string{line}
	}
	rest := strings.TrimLeft(text[gap:], " ")
	head := line[:len(line)-len(rest)]
	longest := 0
	for word := range strings.FieldsSeq(rest) {
		longest = max(longest, len(word))
	}
	var lines []string
	if len(head) > width/2 || longest > width-len(head) {
		lines, head = []string{strings.TrimRight(head, " ")}, strings.Repeat(" ", helpIndent)
	}
	for _, piece := range screen.Wrap(rest, width-len(head)) {
		lines = append(lines, head+piece)
		head = strings.Repeat(" ", len(head))
	}
	return lines
}
