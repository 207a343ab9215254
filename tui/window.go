package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/treeline-dev/treeline/tui/look"
)

// window is the visible part of a list, and the item under the cursor.
type window struct {
	at, top int
	// shown is the number of items for which the last frame had room.
	shown int
}

// fit makes the cursor visible among n items with room for some, and returns the range of items to draw.
func (w *window) fit(n, room int) (from, to int) {
	w.shown = max(room, 1)
	w.at = max(min(w.at, n-1), 0)
	w.top = max(min(w.top, w.at, n-w.shown), w.at-w.shown+1, 0)
	return w.top, min(w.top+w.shown, n)
}

// move moves the cursor.
func (w *window) move(by, n int) { w.at = max(min(w.at+by, n-1), 0) }

// scroll scrolls the list with the mouse wheel. The cursor stays visible.
func (w *window) scroll(by, n int) {
	w.top = max(min(w.top+by, n-w.shown), 0)
	w.at = max(min(w.at, w.top+w.shown-1, n-1), min(w.top, n-1), 0)
}

// keys returns the keys for moving in a list of n items. Each one also runs after, if it is set.
func (w *window) keys(n func() int, after func() tea.Cmd) []look.Key {
	by := func(step func() int) func() tea.Cmd {
		return func() tea.Cmd {
			w.move(step(), n())
			if after != nil {
				return after()
			}
			return nil
		}
	}
	const end = 1 << 30
	return []look.Key{
		{Keys: []string{"j", "down", "ctrl+n"}, Help: "down", Run: by(func() int { return 1 })},
		{Keys: []string{"k", "up", "ctrl+p"}, Help: "up", Run: by(func() int { return -1 })},
		{Keys: []string{"pgdown", "ctrl+d", "space"}, Help: "page down", Run: by(func() int { return w.shown })},
		{Keys: []string{"pgup", "ctrl+u"}, Help: "page up", Run: by(func() int { return -w.shown })},
		{Keys: []string{"g", "home"}, Help: "go to the first", Run: by(func() int { return -end })},
		{Keys: []string{"G", "end"}, Help: "go to the last", Run: by(func() int { return end })},
	}
}

// mouse handles an event of the mouse on items of some lines each; first is the line of the first item. It reports whether the click was on
// the item that was already under the cursor.
func (w *window) mouse(msg tea.MouseMsg, n, first, lines int) (again bool) {
	m := msg.Mouse()
	switch msg.(type) {
	case tea.MouseWheelMsg:
		const step = 3
		if m.Button == tea.MouseWheelDown {
			w.scroll(step, n)
		} else if m.Button == tea.MouseWheelUp {
			w.scroll(-step, n)
		}
	case tea.MouseClickMsg:
		i := w.top + (m.Y-first)/lines
		if m.Button != tea.MouseLeft || m.Y < first || i >= min(n, w.top+w.shown) {
			return false
		}
		again, w.at = i == w.at, i
	}
	return again
}
