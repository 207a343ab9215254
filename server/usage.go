package server

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/page"
	"github.com/treeline-dev/treeline/page/chart"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/usage"
	"github.com/treeline-dev/treeline/wire"
)

type usageParams struct {
	By     []string `query:"by" json:"-" doc:"a list of the result: agent, model, project or day; it may be repeated, the default is all"`
	Source string   `query:"source" json:"-" doc:"the name of a dialect, or the folder of a source"`
	CWD    string   `query:"cwd" json:"-" doc:"only sessions of that directory"`
	spanParams
	Model string `query:"model" json:"-" doc:"a part of the name of a model that answered, or a pattern with * and ?"`
}

// used sums up the usage of sessions, by the keys that the client asks for and those in also. It returns errNotModified if the client
// already has the result.
func (r *request) used(p usageParams, also ...usage.Key) (sum usage.Report, err error) {
	opt := usage.Options{Model: p.Model}
	for _, word := range p.By {
		if !slices.Contains(usage.Keys, usage.Key(word)) {
			return sum, bad("the parameter \"by\" must be agent, model, project or day, not %q", word)
		}
		opt.By = append(opt.By, usage.Key(word))
	}
	if opt.By == nil {
		opt.By = slices.Clone(usage.Keys)
	}
	opt.By = append(opt.By, also...)
	if err := r.checkSource(p.Source); err != nil {
		return sum, err
	}
	if opt.Since, opt.Until, err = p.parse(r.s.opt.Clock()); err != nil {
		return sum, err
	}
	// A session may have messages both before and after a given time, so times select messages, not sessions.
	narrow := treeline.Filter{Source: p.Source, CWD: p.CWD, Model: p.Model}
	if r.paged() {
		return r.usedArchive(fmt.Sprintf("%q %q", p, also), narrow, opt)
	}
	l, err := r.listing()
	if err != nil {
		return sum, err
	}
	if r.unchanged(r.aging(r.s.listTag(l, r))) {
		return sum, errNotModified
	}
	rows, err := r.s.store.Filter(r.Context(), slices.Clone(l.Rows), narrow)
	if err != nil {
		return sum, err
	}
	return usage.Look(l.Rows).Sum(rows, opt), nil
}

// usedArchive sums up the usage of an archive's sessions in batches. The sum is cached for a while under a name.
func (r *request) usedArchive(name string, f treeline.Filter, opt usage.Options) (usage.Report, error) {
	if r.grant.Limited() {
		name += strings.Join(r.grant.Projects, "\x00")
	}
	sum, at, err := r.s.sums.Get(name, r.s.opt.Clock, func() (usage.Report, error) {
		sum := usage.New(opt)
		err := r.archive().Each(r.Context(), f, usage.From(opt.Since), func(rows, all []place.Row) { sum.Add(usage.Look(all), rows) })
		return sum.Report(), err
	})
	if err == nil && r.unchanged(fmt.Sprintf("%s-%d-%s", r.s.feed.Epoch, at.UnixNano(), r.form())) {
		err = errNotModified
	}
	return sum, err
}

func getUsage(r *request, p usageParams) (stats wire.Stats, err error) {
	sum, err := r.used(p)
	return wire.NewStats(sum), err
}

// usageParamsOf turns the query of a page into parameters of the API.
func usageParamsOf(q page.UsageQuery) usageParams {
	p := usageParams{Source: q.Source, CWD: q.CWD, Model: q.Model, spanParams: spanParams{cmp.Or(q.Since, page.UsageSpan), q.Until}}
	if q.Since == "all" {
		p.Since = ""
	}
	return p
}

func usagePage(r *request) error {
	q := page.ParseUsageQuery(r.URL.Query())
	sum, err := r.used(usageParamsOf(q), usage.AgentDay)
	if err != nil {
		return err
	}
	return r.html(func(b *bytes.Buffer) error {
		shown := page.UsagePage{Query: q, Stats: wire.NewStats(sum)}
		days := map[string][]wire.Group{}
		for _, g := range sum.Groups[usage.AgentDay] {
			agent, day, _ := strings.Cut(g.Name, "\x00")
			days[agent] = append(days[agent], wire.NewGroup(day, g.Amount))
		}
		for _, g := range *shown.Stats.Agents {
			shown.ByAgent = append(shown.ByAgent, chart.Series{Name: g.Name, Days: days[g.Name]})
		}
		return r.s.site.Usage(b, shown)
	})
}

// usageCSV sends the numbers of the page as CSV.
func usageCSV(r *request) error {
	sum, err := r.used(usageParamsOf(page.ParseUsageQuery(r.URL.Query())))
	if err != nil {
		return err
	}
	r.w.Header().Set("Content-Disposition", `attachment; filename="usage.csv"`)
	stats := wire.NewStats(sum)
	return r.made("text/csv; charset=utf-8", func(b *bytes.Buffer) error { return stats.CSV(b) })
}
