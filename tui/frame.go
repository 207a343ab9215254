package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/treeline-dev/treeline/tui/look"
)

// body returns the number of lines of a screen: all but the title and the keys.
func (p *program) body() int { return max(p.height-2, 1) }

// View implements tea.Model. It is empty, because frames are drawn by the canvas.
func (p *program) View() tea.View { return tea.View{} }

// frame draws everything.
func (p *program) frame() (string, *cursor) {
	left, right := p.top().Title()
	lines := make([]string, 0, p.height)
	// A column is left free at both ends. The title has priority over the facts at the right end.
	room := p.width - 2
	left = look.Line(left, max(room, 1))
	right = look.Line(right, max(min(room-10, room-1-min(look.Width(left), room*2/5)), 1))
	lines = append(lines, " "+look.Ends(p.palette.Strong.Render(left), p.palette.Faint.Render(right), room))
	box, foot := p.box(), p.foot()
	room = p.body() - len(box) - len(foot) + 1
	var drawn []string
	if room > 0 {
		drawn = strings.Split(p.top().Draw(p.width, room), "\n")
		drawn = drawn[:min(len(drawn), room)]
	}
	for range room - len(drawn) {
		drawn = append(drawn, "")
	}
	lines = append(append(lines, drawn...), box...)
	lines = append(lines, foot...)
	return strings.Join(lines, "\n"), p.cursor(room)
}

// box returns the lines of the dialog. If possible, a part of the screen remains visible.
func (p *program) box() []string {
	if p.dialog == nil {
		return nil
	}
	const sight, low = 4, 16
	room := p.body()
	if room > low {
		room -= sight
	}
	box := p.dialog.draw(p.palette, p.width, room)
	return box[:min(len(box), room)]
}

// cursor returns the place of the text cursor, or nil if no text is being typed.
func (p *program) cursor(room int) *cursor {
	if t, ok := p.dialog.(typist); ok {
		x, y := t.cursor()
		return &cursor{x, 1 + room + y}
	}
	if c, ok := p.top().(look.Placer); ok && p.dialog == nil {
		if x, y, shown := c.Cursor(); shown {
			return &cursor{x, 1 + y}
		}
	}
	return nil
}

// foot returns the last lines: the status, which may take up to four, or the keys.
func (p *program) foot() (lines []string) {
	if p.status.Text == "" {
		return []string{p.lastLine()}
	}
	const longest = 2000
	width, most := max(p.width-2, 1), max(min(4, p.body()/3), 1)
	if p.dialog != nil {
		most = 1 // the dialog has the room
	}
	text, style := look.Line(p.status.Text, longest), p.palette.Accent
	pieces := wrapped(text, width)
	if p.status.Error {
		style = p.palette.Error
		for room := width * most; len(pieces) > most && room > 0; room -= max(width/4, 1) {
			pieces = wrapped(look.Middle(text, room), width)
		}
	}
	if len(pieces) > most {
		pieces = append(pieces[:most-1], look.Cut(pieces[most-1]+" "+pieces[most], width))
	}
	for _, piece := range pieces {
		lines = append(lines, " "+style.Render(piece))
	}
	return lines
}

// lastLine returns the keys that fit. The last of them leads to all others.
func (p *program) lastLine() string {
	keys := p.keys()
	if p.dialog != nil {
		keys = p.dialog.keys()
	} else if p.typing() {
		keys = typed(keys)
	}
	const between = " · "
	var words []string
	last, used := "", 2
	for _, k := range keys {
		if k.Name == "" || len(k.Keys) == 0 {
			continue
		}
		word := look.Shown(k.Keys[0]) + " " + k.Name
		if k.Name == "all keys" {
			last = word
			used += look.Width(word) + len(between)
		} else {
			words = append(words, word)
		}
	}
	line := ""
	for _, w := range words {
		n := look.Width(w) + 3
		if used+n > p.width {
			break
		}
		used += n
		if line != "" {
			line += between
		}
		line += w
	}
	if last != "" {
		if line != "" {
			line += between
		}
		line += last
	}
	return " " + p.palette.Faint.Render(look.Cut(line, p.width-2))
}

// typed returns the keys that are not text.
func typed(keys []look.Key) (kept []look.Key) {
	for _, k := range keys {
		k.Keys = slices.DeleteFunc(slices.Clone(k.Keys), func(name string) bool { return len([]rune(name)) == 1 || name == "space" })
		if len(k.Keys) > 0 {
			kept = append(kept, k)
		}
	}
	return kept
}
