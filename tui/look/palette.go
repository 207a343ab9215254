package look

import (
	"image/color"

	"charm.land/lipgloss/v2"
)

// Palette has a style for each role. Colours are the sixteen of the terminal, so that they follow its theme. What a colour
// says is also said by a sign or a word: with NO_COLOR nothing is lost.
type Palette struct {
	// Accent is for the current line and what was typed, Strong for headings, Faint for ids, times and rules.
	Accent, Strong, Faint lipgloss.Style
	// Selected is the line under the cursor.
	Selected lipgloss.Style
	// Match is what a filter or a search found.
	Match lipgloss.Style
	// Added and Removed are lines of a diff, Hunk its places.
	Added, Removed, Hunk lipgloss.Style
	// Live marks what is being written; Warning what is lost or doubtful; Error what went wrong.
	Live, Warning, Error lipgloss.Style
	// User and Assistant are the headings of messages, Tool that of a call, Thinking is dimmed, Label is a label.
	User, Assistant, Tool, Thinking, Label lipgloss.Style
	// Code is for code in text; Keyword, String, Number and Comment are for code that is highlighted.
	Code, Keyword, String, Number, Comment lipgloss.Style
	// Link is for addresses, Emphasis for emphasis, Quote for quotations.
	Link, Emphasis, Quote lipgloss.Style
}

// Colours gives the palette of a terminal with colours. Without, as with NO_COLOR, it has bold, faint and reversed text only.
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
