package page

import (
	"bytes"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/wire"
)

// measure is what the bars of a chart show.
type measure struct {
	name, title string
	of          func(wire.Amount) float64
	show        func(float64) string
}

var measures = []measure{
	{"cost", "Cost", func(a wire.Amount) float64 { return a.Cost }, wire.Dollars},
	{"tokens", "Tokens", func(a wire.Amount) float64 { return float64(a.Tokens.Total) }, func(f float64) string { return wire.Short(int64(f)) }},
	{"messages", "Messages", func(a wire.Amount) float64 { return float64(a.Messages) }, func(f float64) string { return wire.Number(int64(f)) }},
}

// measureNamed gives the measure that was asked for. Without a wish it is the first one that has a value.
func measureNamed(name string, total wire.Amount) measure {
	for _, m := range measures {
		if m.name == name || name == "" && m.of(total) > 0 {
			return m
		}
	}
	return measures[0]
}

// The measures of a chart.
const (
	chartWidth  = 1060
	chartHeight = 210
	chartLeft   = 52
	chartTop    = 12
	chartBottom = 22 // for the days
)

// mostDays bounds the bars of a chart: one day that is far away must not make it empty.
const mostDays = 400

// mostValue bounds a value: a chart is drawn with whole steps up to the largest.
const mostValue = 1e15

// bar is one day: the parts are stacked.
type bar struct {
	day   string // 2026-11-15
	parts []float64
	sum   float64
}

// bars lays out the days from the first to the last, with those that have no use.
func bars(days []wire.Group, series []Series, m measure) []bar {
	at := func(g wire.Group) (time.Time, bool) {
		t, err := time.Parse(time.DateOnly, g.Name)
		return t, err == nil
	}
	var all []time.Time
	for _, g := range days {
		if t, ok := at(g); ok {
			all = append(all, t)
		}
	}
	if len(all) == 0 {
		return nil
	}
	first, last := slices.MinFunc(all, time.Time.Compare), slices.MaxFunc(all, time.Time.Compare)
	if earliest := last.AddDate(0, 0, 1-mostDays); first.Before(earliest) {
		first = earliest
	}
	if len(series) == 0 {
		series = []Series{{Days: days}}
	}
	n := int(last.Sub(first).Hours()/24+0.5) + 1
	list := make([]bar, n)
	for i := range list {
		list[i] = bar{day: first.AddDate(0, 0, i).Format(time.DateOnly), parts: make([]float64, len(series))}
	}
	for j, s := range series {
		for _, g := range s.Days {
			if t, ok := at(g); ok && !t.Before(first) && !t.After(last) {
				i := int(t.Sub(first).Hours()/24 + 0.5)
				value := min(max(m.of(g.Amount), 0), mostValue)
				list[i].parts[j] += value
				list[i].sum += value
			}
		}
	}
	return list
}

// step gives a round distance of grid lines for values up to top, so that there are three to six.
func step(top float64) float64 {
	if top <= 0 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(top/3)))
	for _, f := range []float64{1, 2, 5, 10} {
		if top/(f*unit) <= 5 {
			return f * unit
		}
	}
	return 10 * unit
}

// chart draws a bar for each day. It is made of numbers, fixed words, days, and names of series, which are escaped.
func chart(list []bar, series []Series, m measure) template.HTML {
	top := 0.0
	for _, b := range list {
		top = max(top, b.sum)
	}
	by := step(top)
	high := max(math.Ceil(top/by)*by, by)
	plot := float64(chartHeight - chartTop - chartBottom)
	y := func(v float64) float64 { return chartTop + plot*(1-v/high) }
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d %d" role="img" aria-label="%s per day">`, chartWidth, chartHeight, m.title)
	for i := range int(high/by+0.5) + 1 {
		v := float64(i) * by
		fmt.Fprintf(&b, `<path class="grid" d="M%d %.1fH%d"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`,
			chartLeft, y(v), chartWidth, chartLeft-8, y(v)+4, template.HTMLEscapeString(strings.TrimSuffix(m.show(v), ".00")))
	}
	pitch := float64(chartWidth-chartLeft) / float64(max(len(list), 1))
	width := min(max(pitch*0.76, 1), 40)
	every := max(1, (len(list)+9)/10)
	for i, d := range list {
		x := chartLeft + (float64(i)+0.5)*pitch - width/2
		day := readable(d.day)
		fmt.Fprintf(&b, `<g class="day"><title>%s: %s</title><rect class="hover" x="%.1f" y="%d" width="%.1f" height="%.1f"/>`,
			day, template.HTMLEscapeString(m.show(d.sum)), x, chartTop, width, plot)
		base := 0.0
		for j, v := range d.parts {
			if v <= 0 {
				continue
			}
			name := ""
			if j < len(series) {
				name = ` data-agent="` + template.HTMLEscapeString(series[j].Name) + `"`
			}
			fmt.Fprintf(&b, `<rect%s x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, name, x, y(base+v), width, max(y(base)-y(base+v), 0.5))
			base += v
		}
		b.WriteString("</g>")
		if i%every == 0 {
			middle := min(x+width/2, chartWidth-20) // the last one stays inside
			fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`, middle, chartHeight-6, day)
		}
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

// readable is a day as people write it. It is a day that bars made.
func readable(day string) string {
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return ""
	}
	return t.Format("2 Jan")
}

// meter draws a share of the largest value.
func meter(value, most float64) template.HTML {
	share := 0.0
	if most > 0 {
		share = min(max(value/most, 0), 1)
	}
	return template.HTML(fmt.Sprintf(`<svg class="meter" viewBox="0 0 120 8" aria-hidden="true"><rect class="bg" width="120" height="8" rx="2"/><rect width="%.1f" height="8" rx="2"/></svg>`, share*120))
}

// names gives the series that occur in some bars, for the legend.
func names(list []bar, series []Series) (used []string) {
	for j, s := range series {
		if slices.ContainsFunc(list, func(b bar) bool { return j < len(b.parts) && b.parts[j] > 0 }) {
			used = append(used, s.Name)
		}
	}
	return used
}
