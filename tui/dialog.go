package tui

import (
	"cmp"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/tui/look"
)

// dialog is a question that the user answers before anything else. It is drawn in the last lines of the screen.
type dialog interface {
	// key handles a key press; done ends the dialog.
	key(msg tea.KeyPressMsg) (cmd tea.Cmd, done bool)
	// mouse handles an event, whose lines count from the first one of the dialog.
	mouse(msg tea.MouseMsg) (cmd tea.Cmd, done bool)
	// draw returns at most height lines.
	draw(p *look.Palette, width, height int) []string
	// keys returns the keys for the last line.
	keys() []look.Key
}

// typist is a dialog with a line of text.
type typist interface {
	insert(text string)
	// cursor returns the place of the cursor in what was drawn last.
	cursor() (x, y int)
}

// head draws the question. A screen ends with a rule, so the dialog needs none above it.
func head(p *look.Palette, question string, width int) (lines []string) {
	for _, line := range wrapped(question, width-2) {
		lines = append(lines, " "+p.Strong.Render(line))
	}
	return lines
}

// wrapped wraps a text into harmless lines.
func wrapped(text string, width int) (lines []string) {
	for line := range strings.Lines(look.Text(text)) {
		lines = append(lines, screen.Wrap(strings.TrimRight(line, "\n"), max(width, 1))...)
	}
	return lines
}

// confirmation is a yes-or-no question.
type confirmation struct{ look.Confirm }

func (c *confirmation) key(msg tea.KeyPressMsg) (tea.Cmd, bool) {
	switch msg.String() {
	case "y", "Y":
		return c.Then, true
	case "n", "N", "esc", "q", "enter":
		return look.Send(look.Status{Text: "nothing changed"}), true
	}
	return nil, false
}

func (c *confirmation) mouse(tea.MouseMsg) (tea.Cmd, bool) { return nil, false }

func (c *confirmation) draw(p *look.Palette, width, _ int) []string {
	lines := head(p, c.Question, width)
	for _, d := range c.Detail {
		for _, line := range wrapped(d, width-4) {
			lines = append(lines, "   "+p.Faint.Render(line))
		}
	}
	return append(lines, p.Faint.Render(look.Rule(width)))
}

func (c *confirmation) keys() []look.Key {
	return []look.Key{{Keys: []string{"y"}, Name: "yes"}, {Keys: []string{"n"}, Name: "no"}}
}

// question asks for a line of text.
type question struct {
	ask  look.Ask
	line input
	x, y int // of the cursor
}

func (q *question) key(msg tea.KeyPressMsg) (tea.Cmd, bool) {
	switch msg.String() {
	case "enter":
		return q.ask.Then(q.line.String()), true
	case "esc":
		return look.Send(look.Status{Text: "nothing changed"}), true
	}
	q.line.key(msg)
	return nil, false
}

func (q *question) mouse(tea.MouseMsg) (tea.Cmd, bool) { return nil, false }
func (q *question) insert(text string)                 { q.line.insert(text) }
func (q *question) cursor() (x, y int)                 { return q.x, q.y }

func (q *question) draw(p *look.Palette, width, _ int) []string {
	lines := head(p, q.ask.Question, width)
	text, at := q.line.draw(width - 4)
	q.x, q.y = 3+at, len(lines)
	return append(lines, " "+p.Accent.Render("›")+" "+text, p.Faint.Render(look.Rule(width)))
}

func (q *question) keys() []look.Key {
	return []look.Key{{Keys: []string{"enter"}, Name: "ok"}, {Keys: []string{"esc"}, Name: "cancel"}}
}

// choice asks the user to choose one of several options.
type choice struct {
	choose look.Choose
	window
	first int // line of the first option
}

func (c *choice) n() int { return len(c.choose.Options) }

func (c *choice) key(msg tea.KeyPressMsg) (tea.Cmd, bool) {
	switch name := msg.String(); {
	case name == "enter":
		return c.choose.Then(c.at), true
	case name == "esc", name == "q":
		return look.Send(look.Status{Text: cmp.Or(c.choose.Left, "nothing changed")}), true
	case len(name) == 1 && name[0] >= '1' && int(name[0]-'1') < c.n():
		return c.choose.Then(int(name[0] - '1')), true
	}
	if k, ok := look.Press(c.window.keys(c.n, nil), msg); ok {
		return k.Run(), false
	}
	return nil, false
}

func (c *choice) mouse(msg tea.MouseMsg) (tea.Cmd, bool) {
	if c.window.mouse(msg, c.n(), c.first, 1) {
		return c.choose.Then(c.at), true
	}
	return nil, false
}

func (c *choice) draw(p *look.Palette, width, height int) []string {
	lines := head(p, c.choose.Question, width)
	c.first = len(lines)
	wide := 0
	for _, o := range c.choose.Options {
		wide = max(wide, look.Width(look.Line(o.Name, 40)))
	}
	from, to := c.fit(c.n(), min(c.n(), height-len(lines)-1))
	for i := from; i < to; i++ {
		o := c.choose.Options[i]
		name := look.Cell(o.Name, min(wide, width-4), false)
		note := look.Line(o.Note, width-6-wide)
		if i == c.at {
			lines = append(lines, " "+p.Selected.Render("▌ "+name)+"  "+p.Faint.Render(note))
		} else {
			lines = append(lines, "   "+name+"  "+p.Faint.Render(note))
		}
	}
	return append(lines, p.Faint.Render(look.Rule(width)))
}

func (c *choice) keys() []look.Key {
	return []look.Key{{Keys: []string{"enter"}, Name: "choose"}, {Keys: []string{"esc"}, Name: "cancel"}}
}
