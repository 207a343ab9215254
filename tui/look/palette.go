package look

import "github.com/charmbracelet/x/ansi"

// Style is how a text looks: what a terminal gets before and after it.
type Style struct{ Begin, End string }

// Render gives a text of one line in the style.
func (s Style) Render(text string) string { return s.Begin + text + s.End }

// plain is the colour of text as the terminal has it.
const plain = ansi.AttrDefaultForegroundColor

func newStyle(colour ansi.Attr, also []ansi.Attr) Style {
	if colour != plain {
		also = append(also, colour)
	}
	if len(also) == 0 {
		return Style{}
	}
	return Style{ansi.NewStyle(also...).String(), ansi.ResetStyle}
}

// Palette has a style for each role. Colours are the sixteen of the terminal, so that they follow its theme. What a colour
// says is also said by a sign or a word: with NO_COLOR nothing is lost.
type Palette struct {
	// Accent is for the current line and what was typed, Strong for headings, Faint for ids, times and rules.
	Accent, Strong, Faint Style
	// Selected is the line under the cursor.
	Selected Style
	// Match is what a filter or a search found.
	Match Style
	// Added and Removed are lines of a diff, Hunk its places.
	Added, Removed, Hunk Style
	// Live marks what is being written; Warning what is lost or doubtful; Error what went wrong.
	Live, Warning, Error Style
	// User and Assistant are the headings of messages, Tool that of a call, Thinking is dimmed, Label is a label.
	User, Assistant, Tool, Thinking, Label Style
	// Code is for code in text; Keyword, String, Number and Comment are for code that is highlighted.
	Code, Keyword, String, Number, Comment Style
	// Link is for addresses, Emphasis for emphasis, Quote for quotations.
	Link, Emphasis, Quote Style
}

// Colours gives the palette of a terminal with colours. Without, as with NO_COLOR, it has bold, faint and reversed text only.
func Colours(colours bool) *Palette {
	style := func(colour ansi.Attr, also ...ansi.Attr) Style {
		if !colours {
			colour = plain
		}
		return newStyle(colour, also)
	}
	const bold, faint, italic, underline = ansi.AttrBold, ansi.AttrFaint, ansi.AttrItalic, ansi.AttrUnderline
	const red, green, yellow = ansi.AttrRedForegroundColor, ansi.AttrGreenForegroundColor, ansi.AttrYellowForegroundColor
	const blue, magenta, cyan = ansi.AttrBlueForegroundColor, ansi.AttrMagentaForegroundColor, ansi.AttrCyanForegroundColor
	return &Palette{
		Accent: style(cyan, bold), Strong: style(plain, bold), Faint: style(plain, faint),
		Selected: style(cyan, bold), Match: style(yellow, bold),
		Added: style(green), Removed: style(red), Hunk: style(cyan),
		Live: style(green), Warning: style(yellow), Error: style(red, bold),
		User: style(blue, bold), Assistant: style(magenta, bold), Tool: style(cyan), Thinking: style(plain, faint), Label: style(yellow),
		Code: style(cyan), Keyword: style(magenta), String: style(green), Number: style(yellow), Comment: style(plain, faint),
		Link: style(blue, underline), Emphasis: style(plain, italic), Quote: style(plain, faint),
	}
}
