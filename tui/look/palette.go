package look

import (
	"image/color"

	"charm.land/lipgloss/v2"
)

// Palette has a style for each role. Colours are the sixteen of the terminal, so that they follow its theme. Everything that a colour
// expresses is also expressed by a symbol or a word, so that nothing is lost with NO_COLOR.
type Palette struct {
	// Accent is for the current line and typed text, Strong for headings, Faint for ids, times and rules.
	Accent, Strong, Faint lipgloss.Style
	// Selected is for the line under the cursor.
	Selected lipgloss.Style
	// Match is for what a filter or a search found.
	Match lipgloss.Style
	// Added and Removed are for lines of a diff, Hunk for its positions.
	Added, Removed, Hunk lipgloss.Style
	// Live is for what is being written, Warning for what is lost or doubtful, Error for what went wrong.
	Live, Warning, Error lipgloss.Style
	// User and Assistant are for the headings of messages, Tool for that of a call, Thinking for thinking, Label for labels.
	User, Assistant, Tool, Thinking, Label lipgloss.Style
	// Code is for code in text; Keyword, String, Number and Comment are for highlighted code.
	Code, Keyword, String, Number, Comment lipgloss.Style
	// Link is for addresses, Emphasis for emphasis, Quote for quotations.
	Link, Emphasis, Quote lipgloss.Style
}

// Colours returns the palette of a terminal with colours. Without colours, as with NO_COLOR, it has only bold, faint and reversed text.
func Colours(colours bool) *Palette {
	s := lipgloss.NewStyle().TabWidth(lipgloss.NoTabConversion)
	c := func(basic color.Color) lipgloss.Style {
		if !colours {
			return s
		}
		return s.Foreground(basic)
	}
	const red, green, yellow, blue, magenta, cyan = lipgloss.Red, lipgloss.Green, lipgloss.Yellow, lipgloss.Blue, lipgloss.Magenta, lipgloss.Cyan
	return &Palette{
		Accent: c(cyan).Bold(true), Strong: s.Bold(true), Faint: s.Faint(true),
		Selected: c(cyan).Bold(true), Match: c(yellow).Bold(true),
		Added: c(green), Removed: c(red), Hunk: c(cyan),
		Live: c(green), Warning: c(yellow), Error: c(red).Bold(true),
		User: c(blue).Bold(true), Assistant: c(magenta).Bold(true), Tool: c(cyan), Thinking: s.Faint(true), Label: c(yellow),
		Code: c(cyan), Keyword: c(magenta), String: c(green), Number: c(yellow), Comment: s.Faint(true),
		Link: c(blue).Underline(true), Emphasis: s.Italic(true), Quote: s.Faint(true),
	}
}
