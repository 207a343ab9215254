package page

import (
	"io"
	"net/url"

	"github.com/treeline-dev/treeline/wire"
)

// UsageQuery is what a page of usage was asked for.
type UsageQuery struct {
	Since   string // since: 30d (the default of the server), 7d, 2026-11-01
	Until   string // until
	Source  string // agent
	CWD     string // cwd
	Model   string // model
	Measure string // measure: cost (the default), tokens, messages
}

// ParseUsageQuery reads the parameters of an address. It does not check their values.
func ParseUsageQuery(v url.Values) UsageQuery {
	return UsageQuery{
		Since: v.Get("since"), Until: v.Get("until"), Source: v.Get("agent"), CWD: v.Get("cwd"), Model: v.Get("model"), Measure: v.Get("measure"),
	}
}

// Values gives the parameters that ParseUsageQuery reads.
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

// UsagePage is what sessions used.
type UsagePage struct {
	Query UsageQuery
	// Stats has all four lists. The days without use may be missing.
	Stats wire.Stats
	// ByAgent has the days of each agent, in the order of Stats.Agents. The bars of a day are stacked by agent; without ByAgent
	// they have one colour.
	ByAgent []Series
	// Agents and Projects are what the filters offer.
	Agents, Projects []Choice
}

// Series is the usage of one agent on each day.
type Series struct {
	Name string
	Days []wire.Group
}

// Usage writes what sessions used.
func (s *Site) Usage(w io.Writer, p UsagePage) error {
	return s.write(w, "usage.html", view{Section: "usage", Title: "Usage", Page: p})
}
