package look

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/treeline-dev/treeline/internal/screen"
)

// Text makes a text of a session harmless, line by line: it cannot move the cursor, set a title, write the clipboard or change the
// direction of writing. Tabs become spaces. All text that is drawn and is not the program's own must pass through Text or Line.
func Text(s string) string {
	s = screen.Clean(s)
	if strings.IndexByte(s, '\t') >= 0 {
		s = strings.ReplaceAll(s, "\t", "    ")
	}
	return s
}

// Line returns the beginning of a text as one harmless line of at most width columns.
func Line(s string, width int) string {
	if width <= 0 {
		return ""
	}
	return screen.OneLine(s, width)
}

// Middle returns a text as one harmless line of at most width columns. It cuts a long one in the middle: an error begins with a path and
// ends with the reason.
func Middle(s string, width int) string {
	const longest = 2000
	s = Line(s, longest)
	n := Width(s)
	if n <= width {
		return s
	}
	head := width / 3
	return Cut(Cut(s, head)+ansi.TruncateLeft(s, n-max(width-head, 0), ""), width)
}

// Cell is Line padded with spaces to width columns; right aligns the text to the right.
func Cell(s string, width int, right bool) string {
	if width <= 0 {
		return ""
	}
	return screen.Pad(screen.OneLine(s, width), width, right)
}

// Width returns the width in columns of a line, which may have styles.
func Width(s string) int { return screen.Width(s, true) }

// Cut shortens a line, which may have styles, to a number of columns.
func Cut(s string, width int) string {
	if width <= 0 {
		return ""
	}
	if len(s) <= width {
		return s
	}
	return ansi.Truncate(s, width, screen.Ellipsis)
}

// Fill cuts or pads a line, which may have styles, to width columns.
func Fill(s string, width int) string {
	s = Cut(s, width)
	if n := width - Width(s); n > 0 {
		return s + strings.Repeat(" ", n)
	}
	return s
}

// Ends puts one text at the left end of a line and one at the right end. If there is no room for both, the left one is cut; if there is
// still no room, the right one is omitted.
func Ends(left, right string, width int) string {
	r := Width(right)
	if r == 0 || r+8 > width {
		return Fill(left, width)
	}
	return Fill(left, width-r-1) + " " + right
}

// Rule returns a horizontal line.
func Rule(width int) string { return strings.Repeat("─", max(width, 0)) }
