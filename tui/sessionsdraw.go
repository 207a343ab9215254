package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/tui/look"
	"github.com/treeline-dev/treeline/wire"
)

// Keys implements look.Screen.
func (s *sessions) Keys() []look.Key {
	ls := s.filter.command
	enter, help := "open", "open the session"
	if s.Pick && !s.Entries {
		enter, help = "pick", "print the session and quit"
	}
	show := func() string {
		t, ok := s.target()
		if !ok {
			return "treeline show SESSION"
		}
		return "treeline show " + t.Ref
	}
	keys := []look.Key{
		{Keys: []string{"enter"}, Name: enter, Help: help, Command: show, Run: func() tea.Cmd { return s.open(false) }},
		{Keys: []string{"/"}, Name: "filter", Help: "filter by words, agent:, project:, model:, since:, has:", Command: ls, Run: func() tea.Cmd {
			s.typing = true
			return nil
		}},
		{Keys: []string{"tab"}, Name: "agent", Help: "show only the next agent", Command: ls, Run: func() tea.Cmd { return s.nextAgent(1) }},
		{Keys: []string{"shift+tab"}, Help: "show only the previous agent", Command: ls, Run: func() tea.Cmd { return s.nextAgent(-1) }},
	}
	if !s.Pick {
		keys = append(keys, look.Key{Keys: []string{"c"}, Name: "context", Help: "open what the model sees of the session", Command: func() string {
			return strings.Replace(show(), "show", "context", 1)
		}, Run: func() tea.Cmd { return s.open(true) }})
		actions := []look.Action{look.CopyResume, look.Export, look.Delete, look.Rename, look.ResumeElsewhere, look.Browse}
		if s.Archive {
			actions = slices.DeleteFunc(actions, func(a look.Action) bool { return a == look.Delete })
		}
		keys = append(keys, look.Actions(s.target, actions...)...)
	}
	keys = append(keys,
		look.Key{Keys: []string{"t"}, Name: "time", Help: "show only sessions of the last day, 7 or 30 days", Command: ls, Run: func() tea.Cmd {
			s.filter.span = (s.filter.span + 1) % len(spans)
			return s.filtered()
		}},
		look.Key{Keys: []string{"p"}, Name: "project", Help: "show only the project of this session, or all projects", Command: ls, Run: s.oneProject},
		look.Key{Keys: []string{"s"}, Name: "sort", Help: "sort by last use, creation, size, messages, tokens, …", Command: ls, Run: func() tea.Cmd {
			s.filter.order = (s.filter.order + 1) % len(place.Orders)
			return s.filtered()
		}},
	)
	if s.typing {
		keys = append(keys, look.Key{Keys: []string{"esc"}, Name: "list", Help: "stop typing", Run: func() tea.Cmd {
			s.typing = false
			return nil
		}})
	} else if !s.filter.none() {
		keys = append(keys, look.Key{Keys: []string{"esc"}, Name: "no filter", Help: "clear the filter", Run: func() tea.Cmd {
			s.line.set("")
			s.filter = filter{order: s.filter.order}
			return s.filtered()
		}})
	}
	return append(keys, s.window.keys(func() int { return len(s.shown) }, s.nextPage)...)
}

// nextAgent cycles through the agents, showing the sessions of one of them, and then of all.
func (s *sessions) nextAgent(by int) tea.Cmd {
	all := append([]string{""}, s.all.Formats()...)
	if s.paged { // the pages so far may not have all agents
		all = append([]string{""}, s.Agents...)
	}
	i := slices.Index(all, s.filter.agent) + by
	s.filter.agent = all[(i+len(all))%len(all)]
	return s.filtered()
}

// oneProject shows only the sessions of the project under the cursor, or all again.
func (s *sessions) oneProject() tea.Cmd {
	switch {
	case s.filter.project != "":
		s.filter.project = ""
	case s.at < len(s.shown):
		s.filter.project = s.all.Row(s.shown[s.at].row).CWD
	}
	return s.filtered()
}

// Cursor implements look.Placer.
func (s *sessions) Cursor() (x, y int, shown bool) { return s.x, 1, s.typing }

// Draw implements look.Screen.
func (s *sessions) Draw(width, height int) string {
	p := s.palette
	rule := p.Faint.Render(look.Rule(width))
	lines := []string{rule, s.filterLine(width), rule}
	s.first = len(lines)
	room := max(height-len(lines)-1, 1)
	switch {
	case !s.loaded:
		lines = append(lines, "", " "+p.Faint.Render(s.progress()))
	case s.all.Len() == 0 && s.filter.none():
		lines = append(lines, s.nothing(width)...)
	case len(s.shown) == 0:
		way := "esc"
		if s.typing {
			way = "esc twice" // the first one ends typing
		}
		lines = append(lines, "", " "+p.Faint.Render("no session matches; "+way+" clears the filter"))
	default:
		columns := s.columns(width)
		from, to := s.fit(len(s.shown), room)
		for i := from; i < to; i++ {
			lines = append(lines, s.draw(columns, s.shown[i], i == s.at, width))
		}
	}
	lines = lines[:min(len(lines), s.first+room)]
	for len(lines) < s.first+room {
		lines = append(lines, "")
	}
	foot := rule
	if s.problem != "" {
		foot = " " + p.Warning.Render(look.Line(s.problem, width-2))
	}
	return strings.Join(append(lines, foot), "\n")
}

// filterLine returns the line with the typed text and what keys have chosen.
func (s *sessions) filterLine(width int) string {
	p := s.palette
	agent, project := "all agents", ""
	if s.filter.agent != "" {
		agent = s.filter.agent
	}
	if s.filter.project != "" {
		project = projectName(s.filter.project) + " · "
	}
	chosen := project + agent + " · " + spans[s.filter.span].name + " · " + orderWords[place.Orders[s.filter.order]]
	if s.wrong != "" {
		chosen = "invalid: " + s.wrong
	}
	chosen = look.Line(chosen, max(width-20, 1))
	text, at := s.line.draw(max(width-look.Width(chosen)-6, 8))
	s.x = 3 + at
	if len(s.line.text) == 0 && !s.typing {
		text = p.Faint.Render("/ filters")
	}
	sign := p.Faint.Render("›")
	if s.typing {
		sign = p.Accent.Render("›")
	}
	style := p.Faint
	if s.wrong != "" {
		style = p.Warning
	}
	return " " + look.Ends(sign+" "+text, style.Render(chosen), width-2)
}

// progress returns the progress of the first reading of all sessions.
func (s *sessions) progress() string {
	if r := s.reading; r.OfLogs > 0 {
		return fmt.Sprintf("reading sessions: %s of %s", wire.Number(int64(r.Logs)), wire.Number(int64(r.OfLogs)))
	}
	return "reading sessions …"
}

// nothing says what was searched for, and what to do.
func (s *sessions) nothing(width int) []string {
	p := s.palette
	var lines []string
	say := func(text string) {
		for _, line := range wrapped(text, width-2) {
			lines = append(lines, " "+line)
		}
	}
	lines = append(lines, "")
	if s.Archive {
		say("There are no sessions in this archive.")
		say("treeline push URL copies the sessions of a machine to it.")
		return lines
	}
	say("There are no sessions yet. Start one with any agent: it appears here at once.")
	lines = append(lines, "")
	say("treeline demo           shows what treeline does")
	say("treeline serve --demo   shows made-up sessions in a browser")
	say("treeline sources --all  lists all places, and how to add one")
	lines = append(lines, "")
	say("Places that were searched, among others:")
	const most = 8
	var sources []place.Source
	for _, info := range s.sources {
		sources = append(sources, info.Source)
	}
	first := place.Firsts(sources)
	for _, src := range first[:min(most, len(first))] {
		where := look.Line(wire.Tilde(src.Root.Sessions, s.Home), max(width-18, 8))
		lines = append(lines, "   "+look.Cell(src.Dialect.Name(), 14, false)+" "+p.Faint.Render(where))
	}
	return lines
}

// columns are the widths of a row's cells; 0 omits a cell.
type columns struct{ when, origin, agent, project, title, notes, cost int }

// columns distributes the width. The cells by which sessions are recognized are dropped last.
func (s *sessions) columns(width int) columns {
	c := columns{when: 6, agent: 8, project: 9, notes: 20, cost: 8}
	if s.Archive {
		c.origin = 12
	}
	if width >= 110 {
		c.project, c.agent = 14, 13
	}
	left := func() int {
		used := 5 // margins, the mark of the cursor and that of live sessions
		for _, w := range []int{c.when, c.origin, c.agent, c.project, c.notes, c.cost} {
			if w > 0 {
				used += w + 1
			}
		}
		return width - used
	}
	const least = 24
	for _, drop := range []*int{&c.origin, &c.notes, &c.project, &c.cost, &c.agent, &c.when} {
		if left() >= least {
			break
		}
		if drop == &c.notes && left()+c.notes-12 >= least {
			c.notes = 12
			continue
		}
		*drop = 0
	}
	c.title = max(left(), 1)
	return c
}

// liveTime is how long after its last change a session counts as being written.
const liveTime = 3 * time.Minute

// draw draws a row.
func (s *sessions) draw(c columns, it item, selected bool, width int) string {
	p := s.palette
	row := s.all.Row(it.row)
	r := wire.NewRow(row)
	now := s.now()
	mark, live := "  ", " "
	if selected {
		mark = "▌ "
	}
	if now.Sub(row.Log.Time) < liveTime {
		live = "●"
	}
	title := r.Title
	switch {
	case title != "":
	case r.Messages != nil && *r.Messages == 0:
		title = "(no messages)"
	default:
		title = "(no title)"
	}
	if it.depth > 0 {
		title = strings.Repeat("  ", min(it.depth, 8)-1) + "└ " + look.Line(title, c.title)
	}
	var b strings.Builder
	cell := func(style interface{ Render(...string) string }, text string, width int, right bool) {
		if width == 0 {
			return
		}
		text = look.Cell(text, width, right)
		if selected {
			style = p.Selected
		}
		b.WriteString(style.Render(text))
		b.WriteByte(' ')
	}
	b.WriteByte(' ')
	if selected {
		mark = p.Selected.Render(mark)
	}
	b.WriteString(mark)
	cell(p.Faint, age(row.When(), now), c.when, false)
	b.WriteString(p.Live.Render(live) + " ")
	cell(p.Faint, r.Origin, c.origin, false)
	cell(p.Tool, r.Dialect, c.agent, false)
	cell(p.Faint, projectName(r.CWD), c.project, false)
	cell(plain, title, c.title, false)
	cell(p.Faint, notes(row, it, c.notes), c.notes, false)
	cost := ""
	if row.Known != nil && row.Known.Cost > 0 {
		cost = wire.Dollars(row.Known.Cost)
	}
	cell(p.Faint, cost, c.cost, true)
	return look.Cut(strings.TrimRight(b.String(), " "), width)
}

// plain is unstyled text.
var plain plainStyle

type plainStyle struct{}

// Render returns the text unchanged.
func (plainStyle) Render(s ...string) string { return strings.Join(s, "") }

// notes describes what is remarkable about a session, the rarest first, as far as there is room.
func notes(r *treeline.Row, it item, width int) string {
	var words []string
	if k := r.Known; k != nil {
		if k.Problems > 0 {
			words = append(words, wire.Count(k.Problems, "problem", "problems"))
		}
		if k.Has&index.HasLabel != 0 {
			words = append(words, "⚑")
		}
		if k.Branches > 1 {
			words = append(words, wire.Count(k.Branches, "branch", "branches"))
		}
		if k.Has&index.HasCompaction != 0 {
			words = append(words, "compacted")
		}
	}
	if it.tasks > 0 {
		words = append(words, wire.Count(it.tasks, "sub-agent", "sub-agents"))
	}
	line := ""
	for _, w := range words {
		if next := strings.TrimSpace(line + " " + w); look.Width(next) <= width {
			line = next
		}
	}
	return line
}

// age formats how long ago something was, in at most six columns.
func age(t, now time.Time) string {
	switch d := now.Sub(t); {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	case d < 100*24*time.Hour:
		return fmt.Sprintf("%d d", int(d.Hours()/24))
	case now.Year() == t.Year():
		return t.In(now.Location()).Format("2 Jan")
	}
	return t.In(now.Location()).Format("2006")
}
