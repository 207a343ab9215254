package tui

import (
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"github.com/treeline-dev/treeline/tui/look"
)

// input is a line of text that is typed. It uses the terminal's own cursor, so blinking needs no timer.
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

// key handles a key press. It reports whether the key belongs to the line.
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

// insert inserts text at the cursor. Pasted text may contain anything: it becomes one harmless line.
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

// cut removes a part of the text.
func (in *input) cut(from, to int) {
	from, to = max(from, 0), min(to, len(in.text))
	if from < to {
		in.text = append(in.text[:from:from], in.text[to:]...)
		in.at = from
	}
}

// word returns the beginning of the word before the cursor.
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

// draw returns the part of the text around the cursor that fits into width columns, and the column of the cursor in it.
func (in *input) draw(width int) (text string, cursor int) {
	from := 0
	for from < in.at && look.Width(string(in.text[from:in.at])) >= width {
		from++
	}
	before := string(in.text[from:in.at])
	return look.Cut(before+string(in.text[in.at:]), width), look.Width(before)
}

// beside reports whether a key belongs to the list below a line that is typed, and not to the line.
func beside(msg tea.KeyPressMsg) bool {
	switch msg.String() {
	case "enter", "esc", "tab", "shift+tab", "up", "down", "ctrl+n", "ctrl+p", "pgup", "pgdown":
		return true
	}
	return false
}

// pressed handles a key while a line above a list is typed: it belongs to the list or to the line. In the latter case, it calls typed.
func (in *input) pressed(msg tea.KeyPressMsg, keys []look.Key, typed func() tea.Cmd) tea.Cmd {
	if k, ok := look.Press(keys, msg); ok && beside(msg) {
		return k.Run()
	}
	if in.key(msg) {
		return typed()
	}
	return nil
}
