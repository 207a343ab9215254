package page

import (
	"cmp"
	"html/template"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/page/chart"
	"github.com/treeline-dev/treeline/wire"
)

// UsageQuery has the parameters of a page of usage.
type UsageQuery struct {
	Since   string // since: 7d, 2026-11-01, all; the default is UsageSpan
	Until   string // until
	Source  string // agent
	CWD     string // cwd
	Model   string // model
	Measure string // measure: cost (the default), tokens, messages
}

// UsageSpan is the default time span of a page of usage.
const UsageSpan = "30d"

// ParseUsageQuery parses the parameters of an address. It does not check their values.
func ParseUsageQuery(v url.Values) UsageQuery {
	return UsageQuery{
		Since: v.Get("since"), Until: v.Get("until"), Source: v.Get("agent"), CWD: v.Get("cwd"), Model: v.Get("model"), Measure: v.Get("measure"),
	}
}

// Values returns the parameters that ParseUsageQuery parses.
func (q UsageQuery) Values() url.Values {
	v := url.Values{}
	for _, p := range [][2]string{
		{"since", q.Since}, {"until", q.Until}, {"agent", q.Source}, {"cwd", q.CWD}, {"model", q.Model}, {"measure", q.Measure},
	} {
		if p[1] != "" {
			v.Set(p[0], p[1])
		}
	}
	return v
}

// UsagePage is the usage of sessions.
type UsagePage struct {
	Query UsageQuery
	// Stats has all four lists. Days without usage may be missing.
	Stats wire.Stats
	// ByAgent has the usage of each agent by day, in the order of Stats.Agents. The bars are then stacked by agent; without ByAgent they
	// have one colour.
	ByAgent []chart.Series
}

// Usage writes a page of usage.
func (s *Site) Usage(w io.Writer, p UsagePage) error {
	v := &usageView{UsagePage: p, site: s, measure: chart.Named(p.Query.Measure, p.Stats.Amount)}
	if p.Stats.Days != nil {
		v.chart = chart.Of(*p.Stats.Days, p.ByAgent, v.measure)
	}
	return s.write(w, "usage.html", view{Section: "usage", Title: "Usage", Page: v})
}

// usageView is the data of the template of a page of usage.
type usageView struct {
	UsagePage
	site    *Site
	measure chart.Measure
	chart   chart.Chart
}

// mostGroups is the largest number of rows of a table on the page. The CSV has all of them.
const mostGroups = 30

// usageTable is the usage by one key.
type usageTable struct {
	Title, Column string
	Agents        bool // names are agents
	Rows          []usageRow
	More          int
}

type usageRow struct {
	Name string
	wire.Amount
	Meter template.HTML
	Href  string
}

// Cached returns the tokens that were read from or written to a cache, as in the table of 'treeline stats', so that the columns add up.
func (r usageRow) Cached() int64 { return r.Tokens.CacheRead + r.Tokens.CacheWrite }

// Measure returns the name of what the bars show.
func (v *usageView) Measure() string { return v.measure.Title }

// Chart draws the days.
func (v *usageView) Chart() template.HTML { return v.chart.SVG() }

// Legend returns the agents in the chart.
func (v *usageView) Legend() []string { return v.chart.Names() }

// NoCost returns the agents that recorded no cost.
func (v *usageView) NoCost() string {
	if v.Stats.Agents == nil {
		return ""
	}
	var names []string
	for _, g := range *v.Stats.Agents {
		if g.Cost == 0 {
			names = append(names, screen.OneLine(g.Name, 40))
		}
	}
	if n := len(names) - 1; n > 0 {
		names = append(names[:n-1], names[n-1]+" and "+names[n])
	}
	return strings.Join(names, ", ")
}

// Cached returns the percentage of the input that came from a cache.
func (v *usageView) Cached() int {
	t := v.Stats.Tokens
	if all := t.Input + t.CacheRead + t.CacheWrite; all > 0 {
		return int(100*float64(t.CacheRead)/float64(all) + 0.5)
	}
	return 0
}

// Tables returns the usage by model, project, agent and day.
func (v *usageView) Tables() []usageTable {
	var list []usageTable
	add := func(t usageTable, groups *[]wire.Group, set func(*UsageQuery, string)) {
		if groups == nil || len(*groups) == 0 {
			return
		}
		rows := *groups
		if set == nil { // days: the newest first
			rows = slices.Clone(rows)
			slices.Reverse(rows)
		}
		most := 0.0
		for _, g := range rows {
			most = max(most, v.measure.Of(g.Amount))
		}
		for i, g := range rows {
			if i == mostGroups {
				t.More = len(rows) - i
				break
			}
			row := usageRow{Name: g.Name, Amount: g.Amount, Meter: chart.Meter(v.measure.Of(g.Amount), most)}
			if set != nil && g.Name != "" {
				row.Href = v.link(func(q *UsageQuery) { set(q, g.Name) })
			}
			t.Rows = append(t.Rows, row)
		}
		list = append(list, t)
	}
	add(usageTable{Title: "By agent", Column: "Agent", Agents: true}, v.Stats.Agents, func(q *UsageQuery, s string) { q.Source = s })
	add(usageTable{Title: "By model", Column: "Model"}, v.Stats.Models, func(q *UsageQuery, s string) { q.Model = s })
	add(usageTable{Title: "By project", Column: "Project"}, v.Stats.Projects, func(q *UsageQuery, s string) { q.CWD = s })
	add(usageTable{Title: "By day", Column: "Day"}, v.Stats.Days, nil)
	return list
}

func (v *usageView) link(change func(*UsageQuery)) string {
	q := v.Query
	change(&q)
	return with(v.site.Link("usage"), q.Values())
}

// CSV returns the address of the CSV file.
func (v *usageView) CSV() string { return with(v.site.Link("usage.csv"), v.Query.Values()) }

// Spans returns the links to other time spans.
func (v *usageView) Spans() (list []item) {
	for _, s := range [][2]string{{"7d", "7 days"}, {"30d", "30 days"}, {"90d", "90 days"}, {"365d", "A year"}, {"all", "All"}} {
		list = append(list, item{Text: s[1], On: cmp.Or(v.Query.Since, UsageSpan) == s[0], Href: v.link(func(q *UsageQuery) { q.Since, q.Until = s[0], "" })})
	}
	return list
}

// Measures returns the links to other measures of the bars.
func (v *usageView) Measures() (list []item) {
	for _, m := range chart.Measures {
		list = append(list, item{Text: m.Title, On: m.Name == v.measure.Name, Href: v.link(func(q *UsageQuery) { q.Measure = m.Name })})
	}
	return list
}

// Filters returns the active filters, each with the link that removes it.
func (v *usageView) Filters() (list []item) {
	add := func(text string, clear func(*UsageQuery)) {
		if text != "" {
			list = append(list, item{Text: text, On: true, Href: v.link(clear)})
		}
	}
	add(v.Query.Source, func(q *UsageQuery) { q.Source = "" })
	add(v.Query.Model, func(q *UsageQuery) { q.Model = "" })
	add(v.site.Folder(v.Query.CWD), func(q *UsageQuery) { q.CWD = "" })
	return list
}
