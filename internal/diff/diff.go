// Package diff compares two texts line by line and reads patches.
package diff

// Op says what became of a line.
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
	// OldLine and NewLine are the numbers of the first line in the old and in the new text, from 1. Both are 0 where only a
	// piece of the text is known.
	OldLine, NewLine int
	// Section is what a patch says about the place, such as the name of a function; "" for nothing.
	Section string
	Lines   []Line
}
