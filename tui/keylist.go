package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/treeline-dev/treeline/tui/look"
)

// keyList is the list of all actions. Typing narrows it, enter runs an action, and each one shows the command that does the same.
type keyList struct {
	archive bool // commands need --store
	all     []look.Key
	shown   []look.Key
	line    input
	window
	first, x int
}

func newKeyList(p *program) *keyList {
	l := &keyList{archive: p.Archive}
	for _, k := range p.keys() {
		if k.Help != "" {
			l.all = append(l.all, k)
		}
	}
	l.shown = l.all
	return l
}

// narrow keeps the actions that contain all typed words.
func (l *keyList) narrow() {
	l.shown, l.at = nil, 0
	words := strings.Fields(strings.ToLower(l.line.String()))
	for _, k := range l.all {
		text := strings.ToLower(strings.Join(k.Keys, " ") + " " + k.Name + " " + k.Help + " " + command(k))
		fits := true
		for _, w := range words {
			fits = fits && strings.Contains(text, w)
		}
		if fits {
			l.shown = append(l.shown, k)
		}
	}
}

func command(k look.Key) string {
	if k.Command == nil {
		return ""
	}
	return k.Command()
}

func (l *keyList) n() int { return len(l.shown) }

// run runs the action under the cursor.
func (l *keyList) run() (tea.Cmd, bool) {
	if l.n() == 0 {
		return nil, false
	}
	return l.shown[l.at].Run(), true
}

func (l *keyList) key(msg tea.KeyPressMsg) (tea.Cmd, bool) {
	switch msg.String() {
	case "enter":
		return l.run()
	case "esc":
		return nil, true
	}
	if msg.Text == "" {
		if k, ok := look.Press(l.window.keys(l.n, nil), msg); ok {
			return k.Run(), false
		}
	}
	if l.line.key(msg) {
		l.narrow()
	}
	return nil, false
}

func (l *keyList) mouse(msg tea.MouseMsg) (tea.Cmd, bool) {
	if l.window.mouse(msg, l.n(), l.first, 1) {
		return l.run()
	}
	return nil, false
}

func (l *keyList) insert(text string) {
	l.line.insert(text)
	l.narrow()
}

func (l *keyList) cursor() (x, y int) { return l.x, 0 }

func (l *keyList) draw(p *look.Palette, width, height int) []string {
	text, at := l.line.draw(width - 4)
	l.x = 3 + at
	lines := []string{" " + p.Accent.Render("›") + " " + text}
	var rule []string // omitted on a low terminal
	const most, low = 24, 12
	if height >= low {
		rule = []string{p.Faint.Render(look.Rule(width))}
	}
	lines = append(lines, rule...)
	l.first = len(lines)
	keys := min(20, width/3)
	from, to := l.fit(l.n(), min(most, max(len(l.all), 1), height-len(lines)-len(rule)-1))
	for i := from; i < to; i++ {
		k := l.shown[i]
		var names []string
		for _, name := range k.Keys {
			names = append(names, look.Shown(name))
		}
		line := look.Cell(strings.Join(names, " "), keys, false) + " " + look.Line(k.Help, width-keys-4)
		if i == l.at {
			lines = append(lines, " "+p.Selected.Render("▌ "+line))
		} else {
			lines = append(lines, "   "+line)
		}
	}
	same := "no action matches"
	if l.n() > 0 {
		same = "no command does this"
		if c := command(l.shown[l.at]); c != "" {
			if same = "$ " + c; l.archive {
				same += " --store URL"
			}
		}
	}
	return append(append(lines, rule...), " "+p.Faint.Render(look.Line(same, width-2)))
}

func (l *keyList) keys() []look.Key {
	return []look.Key{
		{Keys: []string{"enter"}, Name: "run"}, {Keys: []string{"esc"}, Name: "close"}, {Keys: []string{"↑↓"}, Name: "move"},
	}
}
