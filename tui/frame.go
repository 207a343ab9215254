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
	box := p.box()
	room = p.body() - len(box)
	var drawn []string
	if room > 0 {
		drawn = strings.Split(p.top().Draw(p.width, room), "\n")
		drawn = drawn[:min(len(drawn), room)]
	}
	for range room - len(drawn) {
		drawn = append(drawn, "")
	}
	lines = append(append(lines, drawn...), box...)
	lines = append(lines, p.lastLine())
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

// lastLine returns the status or, without one, the keys that fit. The last of them leads to all others.
func (p *program) lastLine() string {
	if p.status.Text != "" {
		if p.status.Error {
			return " " + p.palette.Error.Render(look.Middle(p.status.Text, p.width-2))
		}
		return " " + p.palette.Accent.Render(look.Line(p.status.Text, p.width-2))
	}
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
