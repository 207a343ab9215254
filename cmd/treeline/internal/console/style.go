package console

import "github.com/treeline-dev/treeline/wire"

// Style styles text on a terminal. The zero value leaves it plain.
type Style struct{ On bool }

// ColorWords are the values of --color.
var ColorWords = []string{"auto", "always", "never"}

// style returns the style for stdout. --color decides, then NO_COLOR, then CLICOLOR_FORCE; otherwise a terminal has colours unless it is
// dumb or CLICOLOR is 0.
func (c *Console) style() Style {
	_, isTerminal := Width(c.Stdout)
	force := c.Getenv("CLICOLOR_FORCE")
	switch {
	case c.Color == "always":
		return Style{On: true}
	case c.Color == "never" || c.Getenv("NO_COLOR") != "":
		return Style{}
	case force != "" && force != "0":
		return Style{On: true}
	}
	return Style{On: isTerminal && c.Getenv("TERM") != "dumb" && c.Getenv("CLICOLOR") != "0"}
}

// Mark applies an SGR parameter to a text.
func (s Style) Mark(code, text string) string {
	if !s.On || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// codes are the SGR parameters of styles.
var codes = map[wire.Style]string{
	wire.StyleStrong: "1", wire.StyleFaint: "2", wire.StyleThinking: "2;3", wire.StyleError: "31", wire.StyleLabel: "33",
	wire.StyleTool: "36", wire.StyleUser: "1;36", wire.StyleAssistant: "1;32", wire.StyleSummary: "1;35", wire.StyleAlert: "1;31",
}

func (s Style) paint(style wire.Style, text string) string { return s.Mark(codes[style], text) }

// Bold is for what matters most.
func (s Style) Bold(t string) string { return s.Mark("1", t) }

// Dim is for what matters least.
func (s Style) Dim(t string) string { return s.Mark("2", t) }

// Red is for what is wrong.
func (s Style) Red(t string) string { return s.Mark("31", t) }

// Yellow is for ids.
func (s Style) Yellow(t string) string { return s.Mark("33", t) }

// Cyan is for times and names.
func (s Style) Cyan(t string) string { return s.Mark("36", t) }

// Colours reports whether the terminal program uses colours. It does not depend on standard output: 'treeline pick' draws on the terminal
// although its output is a pipe.
func (c *Console) Colours() bool {
	switch {
	case c.Color == "always":
		return true
	case c.Color == "never" || c.Getenv("NO_COLOR") != "":
		return false
	}
	return c.Getenv("CLICOLOR") != "0"
}
