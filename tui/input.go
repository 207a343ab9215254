package tui

import (
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"github.com/treeline-dev/treeline/tui/look"
)

// input is a line of text that is typed. The terminal's own cursor stands in it, so nothing blinks by a timer of ours.
type input struct {
	text []rune
	at   int // the cursor is before this rune
}

// set replaces the text and puts the cursor at its end.
func (in *input) set(s string) {
	in.text = []rune(look.Line(s, len(s)+1))
	in.at = len(in.text)
}

func (in *input) String() string { return string(in.text) }

// key takes a key press. It reports whether the key was one of the line's.
func (in *input) key(msg tea.KeyPressMsg) bool {
	switch msg.String() {
	case "left", "ctrl+b":
		in.at = max(in.at-1, 0)
	case "right":
		in.at = min(in.at+1, len(in.text))
	case "home", "ctrl+a":
		in.at = 0
	case "end", "ctrl+e":
		in.at = len(in.text)
	case "backspace", "ctrl+h":
		in.cut(in.at-1, in.at)
	case "delete":
		in.cut(in.at, in.at+1)
	case "ctrl+u":
		in.cut(0, in.at)
	case "ctrl+k":
		in.cut(in.at, len(in.text))
	case "ctrl+w", "alt+backspace":
		in.cut(in.word(), in.at)
	default:
		if msg.Text == "" {
			return false
		}
		in.insert(msg.Text)
	}
	return true
}

// insert puts text before the cursor. What was pasted may hold anything: it becomes one harmless line.
func (in *input) insert(s string) {
	const longest = 1000
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, s)
	add := []rune(look.Text(s))
	add = add[:min(len(add), max(longest-len(in.text), 0))]
	in.text = append(in.text[:in.at:in.at], append(add, in.text[in.at:]...)...)
	in.at += len(add)
}

// cut takes out a part of the text.
func (in *input) cut(from, to int) {
	from, to = max(from, 0), min(to, len(in.text))
	if from < to {
		in.text = append(in.text[:from:from], in.text[to:]...)
		in.at = from
	}
}

// word is where the word before the cursor begins.
func (in *input) word() int {
	at := in.at
	for at > 0 && in.text[at-1] == ' ' {
		at--
	}
	for at > 0 && in.text[at-1] != ' ' {
		at--
	}
	return at
}

// draw gives the part of the text around the cursor that fits into width columns, and the column of the cursor in it.
func (in *input) draw(width int) (text string, cursor int) {
	from := 0
	for from < in.at && look.Width(string(in.text[from:in.at])) >= width {
		from++
	}
	before := string(in.text[from:in.at])
	return look.Cut(before+string(in.text[in.at:]), width), look.Width(before)
}

// beside reports whether a key is one of the list below a line that is typed, and not one of the line.
func beside(msg tea.KeyPressMsg) bool {
	switch msg.String() {
	case "enter", "esc", "tab", "shift+tab", "up", "down", "ctrl+n", "ctrl+p", "pgup", "pgdown":
		return true
	}
	return false
}

// pressed takes a key while a line above a list is typed: one of the list's keys, or one of the line, after which typed runs.
func (in *input) pressed(msg tea.KeyPressMsg, keys []look.Key, typed func() tea.Cmd) tea.Cmd {
	if k, ok := look.Press(keys, msg); ok && beside(msg) {
		return k.Run()
	}
	if in.key(msg) {
		return typed()
	}
	return nil
}
