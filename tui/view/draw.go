package view

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/treeline-dev/treeline/transcript"
	"github.com/treeline-dev/treeline/tui/look"
	"github.com/treeline-dev/treeline/wire"
)

// margin is the number of columns left of the transcript, for the mark of the cursor.
const margin = 2

// layout has the widths of the panes. A hidden pane has the width 0.
type layout struct{ tree, text int }

func (v *viewer) layout(width int) layout {
	switch {
	case width >= twoPanes:
		tree := min(max(width*38/100, 36), 60)
		return layout{tree, width - tree - 1}
	case v.onTree:
		return layout{tree: width}
	}
	return layout{text: width}
}

// leastWidth and leastHeight are the size of the smallest frame. A smaller terminal shows its upper left corner.
const leastWidth, leastHeight = 20, 3

// Draw implements look.Screen.
func (v *viewer) Draw(width, height int) string {
	if width < leastWidth || height < leastHeight {
		lines := strings.Split(v.Draw(max(width, leastWidth), max(height, leastHeight)), "\n")
		lines = lines[:max(min(len(lines), height), 0)]
		for n := range lines {
			lines[n] = look.Fill(lines[n], width)
		}
		return strings.Join(lines, "\n")
	}
	v.width = width
	l := v.layout(width)
	v.tree.height = height - 1
	v.tree.settle()
	if l.text > 0 {
		v.pane.resize(l.text-margin, height-1)
	} else {
		v.pane.resize(width-margin, height-1)
	}
	var b strings.Builder
	b.Grow(width * height * 2)
	v.drawHead(&b, l)
	rows := v.pane.visible()
	for n := range height - 1 {
		b.WriteByte('\n')
		if l.tree > 0 {
			v.drawRow(&b, v.tree.top+n, l.tree)
			if l.text > 0 {
				v.paint.draw(&b, newLine(run{"│", faint}), 1, "", plain)
			}
		}
		if l.text > 0 {
			v.drawText(&b, rows, n, l.text)
		}
	}
	return b.String()
}

// drawHead draws the line above the panes: the modes, and the position in the transcript.
func (v *viewer) drawHead(b *strings.Builder, l layout) {
	if l.tree > 0 {
		name := run{"tree", faint}
		if v.onTree {
			name.role = accent
		}
		runs := []run{{"─ ", faint}, name, {" ", faint}}
		if v.tree.landmarks {
			runs = append(runs, run{"landmarks ", accent})
		}
		v.paint.draw(b, ruled(runs, nil, l.tree), l.tree, "", plain)
		if l.text > 0 {
			v.paint.draw(b, newLine(run{"┬", faint}), 1, "", plain)
		}
	}
	if l.text > 0 {
		var right []run // the first one that fits
		tabs := v.tabs(l.text)
		for _, right = range v.progress() {
			if look.Width(line{runs: tabs}.text())+look.Width(line{runs: right}.text()) < l.text {
				break
			}
		}
		v.paint.draw(b, ruled(tabs, right, l.text), l.text, "", plain)
	}
}

// tabs returns the names of the modes or, if they do not all fit, that of the current one.
func (v *viewer) tabs(width int) []run {
	runs := []run{{"─ ", faint}}
	for m := range modes {
		if m > 0 {
			runs = append(runs, run{" │ ", faint})
		}
		r := faint
		if m == v.mode {
			r = accent
		}
		runs = append(runs, run{m.String(), r})
	}
	if look.Width(line{runs: runs}.text()) >= width {
		runs = []run{runs[0], {v.mode.String(), accent}, {fmt.Sprintf(" · %d of %d", v.mode+1, modes), faint}}
	}
	return append(runs, run{" ", faint})
}

// progress describes the position in the transcript, in full and then in fewer words.
func (v *viewer) progress() [][]run {
	say := func(texts ...string) (list [][]run) {
		for _, text := range texts {
			list = append(list, []run{{" " + text + " ", faint}})
		}
		return list
	}
	switch {
	case v.gone != "":
		return [][]run{{{" not up to date ", failure}}}
	case v.searching > 0:
		return say("searching …")
	case v.mode == model && v.tokens > 0:
		tokens := wire.Short(v.tokens) + " tokens"
		return say(wire.Count(v.total, "message", "messages")+", about "+tokens, "about "+tokens, tokens)
	case v.mode == changes && len(v.files) > 0:
		more, less := 0, 0
		for n := range v.files {
			more, less = more+v.files[n].Added, less+v.files[n].Removed
		}
		runs := append([]run{{" " + wire.Count(len(v.files), "file", "files") + " ", faint}}, sums(more, less)...)
		return [][]run{append(runs, run{" ", faint})}
	case v.mode != changes && v.leaf != nil:
		return say("another branch")
	}
	return nil
}

// ruled returns a rule with runs at its ends. If there is no room for both, the right ones are omitted.
func ruled(left, right []run, width int) line {
	rest := width - look.Width(line{runs: left}.text()) - look.Width(line{runs: right}.text()) - 1
	if rest < 0 {
		right = nil
		rest = width - look.Width(line{runs: left}.text()) - 1
	}
	if rest < 0 {
		return newLine(cutRuns(left, width)...)
	}
	runs := append(append([]run{}, left...), run{look.Rule(rest), faint})
	return newLine(append(append(runs, right...), run{"─", faint})...)
}

// drawRow draws a row of the tree.
func (v *viewer) drawRow(b *strings.Builder, n, width int) {
	if v.tree.outline == nil || n >= v.tree.outline.Len() {
		b.WriteString(spaces(width))
		return
	}
	v.paint.draw(b, v.treeLine(n, width), width, v.needle, plain)
}

// drawText draws a line of the transcript.
func (v *viewer) drawText(b *strings.Builder, rows []spot, n, width int) {
	if n >= len(rows) {
		l := line{}
		if n == 1 && len(rows) == 0 && v.note != "" {
			l = newLine(run{"  " + v.note, faint})
		}
		v.paint.draw(b, l, width, "", plain)
		return
	}
	at := rows[n]
	l := v.pane.lines(at)[at.line]
	mark := run{spaces(margin), plain}
	if at.item == v.pane.cur && (len(l.runs) > 0 || at != v.pane.begin(at.item)) {
		mark = run{"▌ ", faint}
		if !v.onTree {
			mark.role = accent
		}
	}
	base := plain
	if block := v.pane.items[at.item].block; block != nil && block.Unseen && v.mode != model {
		base = faint
	}
	v.paint.draw(b, newLine(mark), margin, "", plain)
	v.paint.draw(b, l, width-margin, v.needle, base)
}

// wheel scrolls the pane under the pointer.
func (v *viewer) wheel(m tea.Mouse) {
	n := 3
	switch m.Button {
	case tea.MouseWheelUp:
		n = -3
	case tea.MouseWheelDown:
	default:
		return
	}
	if l := v.layout(v.width); l.tree > 0 && m.X < l.tree {
		t := &v.tree
		if t.outline == nil || t.outline.Len() == 0 {
			return
		}
		top := min(max(t.top+n, 0), max(t.outline.Len()-t.height, 0))
		t.cur, t.top = min(max(t.cur, top), top+max(t.height-1, 0)), top
		v.src.use(t.outline, func() { t.id = t.outline.ID(t.cur) })
		return
	}
	v.pane.scroll(n)
	v.pane.follow()
	v.tree.follow(v)
}

// click selects a mode, a row or a block, and performs the action of the line.
func (v *viewer) click(m tea.Mouse) tea.Cmd {
	if m.Button != tea.MouseLeft {
		return nil
	}
	l := v.layout(v.width)
	inTree := l.tree > 0 && m.X < l.tree
	x := m.X
	if l.tree > 0 {
		x -= l.tree + 1
	}
	switch {
	case m.Y == 0 && !inTree:
		return v.clickTab(x, l.text)
	case m.Y == 0:
		v.onTree = true
		return nil
	case inTree:
		v.onTree = true
		if n := v.tree.top + m.Y - 1; v.tree.outline != nil && n < v.tree.outline.Len() {
			return v.move(n)
		}
		return nil
	}
	v.onTree = false
	rows := v.pane.visible()
	if m.Y-1 >= len(rows) {
		return nil
	}
	at := rows[m.Y-1]
	v.pane.cur = at.item
	v.tree.follow(v)
	switch act := v.pane.lines(at)[at.line].click.(type) {
	case fold:
		return v.foldHere()
	case switchBranch:
		if x < l.text/2 {
			return v.switchTo(act.fork, -1)
		}
		return v.switchTo(act.fork, 1)
	case openChild:
		return v.openChild(act.child)
	case goOn:
		return v.enterBranch(act.branch)
	}
	return nil
}

// clickTab selects the mode whose name is at a column of a line.
func (v *viewer) clickTab(x, width int) tea.Cmd {
	at, m := 0, everything
	for _, r := range v.tabs(width) {
		at += look.Width(r.text)
		if r.text == m.String() {
			if x < at {
				return v.setMode(m)
			}
			m++
		}
		if m == modes {
			return nil
		}
	}
	return nil
}

// ending returns what is shown after the end of the path: how the conversation continues, and what is wrong with the log.
func (v *viewer) ending(onward *transcript.Fork) *item {
	m := &maker{setting: v.setting()}
	if onward != nil {
		m.add(func(w int) []line {
			lines := []line{{}, across("─", []run{{"continues in " + wire.Count(onward.Count, "branch", "branches"), accent}}, w)}
			for _, b := range onward.Branches {
				text := b.Label
				if text == "" {
					text = "(no text)"
				}
				l := ends([]run{{"› ", accent}, {look.Line(text, w), plain}}, []run{{wire.Count(b.Entries, "entry", "entries"), faint}}, w)
				l.click = goOn{b}
				lines = append(lines, l)
			}
			return lines
		})
	}
	if problems := v.facts.problems; len(problems) > 0 && v.mode != model {
		m.add(func(w int) []line {
			return append([]line{{}, across("─", []run{{wire.Count(len(problems), "problem", "problems") + " in the log", warning}}, w)}, problemLines(problems, w)...)
		})
	}
	if len(m.parts) == 0 {
		return nil
	}
	return &item{key: "ending", fork: onward, parts: m.parts}
}
