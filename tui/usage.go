package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/tui/look"
	"github.com/treeline-dev/treeline/usage"
	"github.com/treeline-dev/treeline/wire"
)

// usageScreen is the screen of usage by agent, model, project or day.
type usageScreen struct {
	*desk
	window
	by      int // index in groupings
	span    int // index in spans
	stamp   int
	stats   *treeline.Stats
	problem string
}

// groupings are the lists that a key cycles through.
var groupings = []struct {
	key  treeline.StatsKey
	name string
}{
	{treeline.StatsByAgent, "agents"}, {treeline.StatsByModel, "models"}, {treeline.StatsByProject, "projects"}, {treeline.StatsByDay, "days"},
}

func newUsage(d *desk) *usageScreen { return &usageScreen{desk: d} }

// summed is the usage in a time span.
type summed struct {
	stamp int
	stats treeline.Stats
	err   error
}

// Init implements look.Screen.
func (u *usageScreen) Init() tea.Cmd { return u.sum() }

// sum starts summing up.
func (u *usageScreen) sum() tea.Cmd {
	u.stamp++
	stamp, opt := u.stamp, treeline.StatsOptions{Zone: u.Zone}
	if days := spans[u.span].days; days > 0 {
		opt.Filter.Since = u.now().AddDate(0, 0, -days)
	}
	return func() tea.Msg {
		r, err := u.Store.Stats(u.ctx, opt)
		return look.To{Screen: u, Msg: summed{stamp: stamp, stats: r, err: err}}
	}
}

// Update implements look.Screen.
func (u *usageScreen) Update(msg tea.Msg) (look.Screen, tea.Cmd) {
	switch msg := msg.(type) {
	case summed:
		if msg.stamp != u.stamp {
			break
		}
		u.problem = ""
		if msg.err != nil {
			u.problem = msg.err.Error()
			break
		}
		u.stats = &msg.stats
	case tea.MouseMsg:
		u.window.mouse(msg, len(u.groups()), 4, 1)
	}
	return u, nil
}

// groups returns those of the list that is shown. The last day comes first.
func (u *usageScreen) groups() []usage.Group {
	if u.stats == nil {
		return nil
	}
	key := groupings[u.by].key
	list := u.stats.Groups[key]
	if key == treeline.StatsByDay {
		list = slices.Clone(list)
		slices.Reverse(list)
	}
	return list
}

// Title implements look.Screen.
func (u *usageScreen) Title() (left, right string) {
	if u.stats == nil {
		return "usage", ""
	}
	t := u.stats.Total
	right = fmt.Sprintf("%s · %s · %s tokens", wire.Count(t.Sessions, "session", "sessions"), wire.Count(t.Messages, "message", "messages"), wire.Number(t.Tokens.Total))
	if t.Cost != 0 {
		right += " · " + wire.Dollars(t.Cost)
	}
	return "usage", right
}

// Keys implements look.Screen.
func (u *usageScreen) Keys() []look.Key {
	stats := func() string {
		line := "treeline stats --by " + string(groupings[u.by].key)
		if days := spans[u.span].days; days > 0 {
			line += fmt.Sprintf(" --since %dd", days)
		}
		return line
	}
	turn := func(by int) func() tea.Cmd {
		return func() tea.Cmd {
			u.by = (u.by + by + len(groupings)) % len(groupings)
			u.window = window{}
			return nil
		}
	}
	return append([]look.Key{
		{Keys: []string{"tab", "right", "l"}, Name: "next list", Help: "next list: agents, models, projects, days", Command: stats, Run: turn(1)},
		{Keys: []string{"shift+tab", "left", "h"}, Help: "previous list", Command: stats, Run: turn(-1)},
		{Keys: []string{"t"}, Name: "time", Help: "show only the last day, 7 or 30 days", Command: stats, Run: func() tea.Cmd {
			u.span = (u.span + 1) % len(spans)
			return u.sum()
		}},
	}, u.window.keys(func() int { return len(u.groups()) }, nil)...)
}

// Draw implements look.Screen.
func (u *usageScreen) Draw(width, height int) string {
	p := u.palette
	rule := p.Faint.Render(look.Rule(width))
	var tabs []string
	for i, g := range groupings {
		if i == u.by {
			tabs = append(tabs, p.Accent.Render(g.name))
		} else {
			tabs = append(tabs, p.Faint.Render(g.name))
		}
	}
	lines := []string{rule, " " + look.Ends(strings.Join(tabs, p.Faint.Render(" │ ")), p.Faint.Render(spans[u.span].name), width-2), rule}
	room := max(height-len(lines)-1, 1)
	end := len(lines) + room
	groups := u.groups()
	switch {
	case u.problem != "":
		lines = append(lines, " "+p.Warning.Render(look.Line(u.problem, width-2)))
	case u.stats == nil:
		lines = append(lines, " "+p.Faint.Render("adding up …"))
	case len(groups) == 0:
		lines = append(lines, " "+p.Faint.Render("no usage"))
	default:
		lines = append(lines, u.table(groups, width, room)...)
	}
	for len(lines) < end {
		lines = append(lines, "")
	}
	return strings.Join(append(lines[:end], rule), "\n")
}

// table draws the groups with their bars. If there is too little room, the least important columns are left out.
func (u *usageScreen) table(groups []usage.Group, width, room int) []string {
	p := u.palette
	sessions, messages, tokens, cost, longest := 8, 9, 14, 10, 0
	if width < 70 {
		sessions, messages = 0, 0
	}
	if width < 45 {
		tokens = 0
	}
	if width >= 100 {
		longest = 24
	}
	name := width - 4
	for _, w := range []int{sessions, messages, tokens, cost, longest} {
		if w > 0 {
			name -= w + 1
		}
	}
	row := func(mark string, style interface{ Render(...string) string }, cells [5]string, bar string) string {
		line := style.Render(mark + look.Cell(cells[0], max(name, 4), false))
		for i, w := range []int{sessions, messages, tokens, cost} {
			if w > 0 {
				line += " " + look.Cell(cells[i+1], w, true)
			}
		}
		if longest > 0 {
			line += " " + bar
		}
		return look.Cut(" "+strings.TrimRight(line, " "), width)
	}
	what, measure := wire.Measure(groups)
	most := 0.0
	for i := range groups {
		most = max(most, measure(&groups[i].Amount))
	}
	said := "messages"
	if groupings[u.by].key == treeline.StatsByModel {
		said = "answers"
	}
	lines := []string{p.Faint.Render(row("  ", plain, [5]string{string(groupings[u.by].key), "sessions", said, "tokens", "cost"}, "by "+what))}
	from, to := u.fit(len(groups), room-1)
	for i := from; i < to; i++ {
		g := &groups[i]
		title := g.Name
		if groupings[u.by].key == treeline.StatsByProject {
			title = wire.Tilde(title, u.Home)
		}
		if title == "" {
			title = "-"
		}
		cells := [5]string{title, wire.Number(int64(g.Sessions)), wire.Number(int64(g.Messages)), wire.Number(g.Tokens.Total), wire.Cost(g.Cost, "-")}
		bar := p.Tool.Render(wire.Bar(measure(&g.Amount), most, longest))
		if i == u.at {
			lines = append(lines, row("▌ ", p.Selected, cells, bar))
		} else {
			lines = append(lines, row("  ", plain, cells, bar))
		}
	}
	return lines
}
