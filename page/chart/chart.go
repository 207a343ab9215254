// Package chart draws usage as SVG: a bar for each day, stacked by series, and a meter for a row of a table.
package chart

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

// A Measure is what the bars of a chart show. Name is its value in an address.
type Measure struct {
	Name, Title string
	Of          func(wire.Amount) float64
	show        func(float64) string
}

// Measures are all measures, the default one first.
var Measures = []Measure{
	{"cost", "Cost", func(a wire.Amount) float64 { return a.Cost }, wire.Dollars},
	{"tokens", "Tokens", func(a wire.Amount) float64 { return float64(a.Tokens.Total) }, func(f float64) string { return wire.Short(int64(f)) }},
	{"messages", "Messages", func(a wire.Amount) float64 { return float64(a.Messages) }, func(f float64) string { return wire.Number(int64(f)) }},
}

// Named returns the measure with a name. If name is "", it returns the first one with a value.
func Named(name string, total wire.Amount) Measure {
	for _, m := range Measures {
		if m.Name == name || name == "" && m.Of(total) > 0 {
			return m
		}
	}
	return Measures[0]
}

// Width is the width of a drawing across the page. The other constants are dimensions of a chart.
const (
	Width  = 1060
	height = 210
	left   = 52
	top    = 12
	bottom = 22 // for the labels of the days
)

// mostDays is the largest number of bars: a single day far away must not make the chart empty.
const mostDays = 400

// mostValue is the largest value, since a chart is drawn in integral steps up to it.
const mostValue = 1e15

// A Series is the usage of one agent on each day.
type Series struct {
	Name string
	Days []wire.Group
}

// A Chart has a bar for each day, with a part for each series.
type Chart struct {
	measure Measure
	series  []Series
	bars    []bar
}

// Of returns a chart of some days. Without series, each bar has one part.
func Of(days []wire.Group, series []Series, m Measure) Chart {
	return Chart{m, series, bars(days, series, m)}
}

// bar is one day: the parts are stacked.
type bar struct {
	day   string // 2026-11-15
	parts []float64
	sum   float64
}

// bars returns the bars from the first day to the last, including days without usage.
func bars(days []wire.Group, series []Series, m Measure) []bar {
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
				value := min(max(m.Of(g.Amount), 0), mostValue)
				list[i].parts[j] += value
				list[i].sum += value
			}
		}
	}
	return list
}

// step returns a round distance of grid lines for values up to most, which results in three to six lines.
func step(most float64) float64 {
	if most <= 0 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(most/3)))
	for _, f := range []float64{1, 2, 5, 10} {
		if most/(f*unit) <= 5 {
			return f * unit
		}
	}
	return 10 * unit
}

// SVG draws the chart; "" without days. It consists of numbers, fixed words, days, and names of series, which are escaped.
func (c Chart) SVG() template.HTML {
	if len(c.bars) == 0 {
		return ""
	}
	most := 0.0
	for _, b := range c.bars {
		most = max(most, b.sum)
	}
	by := step(most)
	high := max(math.Ceil(most/by)*by, by)
	plot := float64(height - top - bottom)
	y := func(v float64) float64 { return top + plot*(1-v/high) }
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d %d" role="img" aria-label="%s per day">`, Width, height, c.measure.Title)
	for i := range int(high/by+0.5) + 1 {
		v := float64(i) * by
		fmt.Fprintf(&b, `<path class="grid" d="M%d %.1fH%d"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`,
			left, y(v), Width, left-8, y(v)+4, template.HTMLEscapeString(strings.TrimSuffix(c.measure.show(v), ".00")))
	}
	pitch := float64(Width-left) / float64(len(c.bars))
	width := min(max(pitch*0.76, 1), 40)
	every := max(1, (len(c.bars)+9)/10)
	for i, d := range c.bars {
		x := left + (float64(i)+0.5)*pitch - width/2
		day := readable(d.day)
		fmt.Fprintf(&b, `<g class="day"><title>%s: %s%s</title><rect class="hover" x="%.1f" y="%d" width="%.1f" height="%.1f"/>`,
			day, template.HTMLEscapeString(c.measure.show(d.sum)), template.HTMLEscapeString(c.parts(d)), x, top, width, plot)
		base := 0.0
		for j, v := range d.parts {
			if v <= 0 {
				continue
			}
			name := ""
			if j < len(c.series) {
				name = ` data-agent="` + template.HTMLEscapeString(c.series[j].Name) + `"`
			}
			fmt.Fprintf(&b, `<rect%s x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, name, x, y(base+v), width, max(y(base)-y(base+v), 0.5))
			base += v
		}
		b.WriteString("</g>")
		if i%every == 0 {
			middle := min(x+width/2, Width-20) // keeps the last label inside
			fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`, middle, height-6, day)
		}
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

// parts lists the parts of a bar by name, because several series may have the same colour; "" if the chart has only one series.
func (c Chart) parts(d bar) string {
	var words []string
	for j, v := range d.parts {
		if v > 0 && j < len(c.series) {
			words = append(words, c.series[j].Name+" "+c.measure.show(v))
		}
	}
	if len(words) == 0 || len(d.parts) == 1 {
		return ""
	}
	return " · " + strings.Join(words, " · ")
}

// readable formats a day that bars made.
func readable(day string) string {
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return ""
	}
	return t.Format("2 Jan")
}

// Meter draws a value as a share of the largest one.
func Meter(value, most float64) template.HTML {
	share := 0.0
	if most > 0 {
		share = min(max(value/most, 0), 1)
	}
	return template.HTML(fmt.Sprintf(`<svg class="meter" viewBox="0 0 120 8" aria-hidden="true"><rect class="bg" width="120" height="8" rx="2"/><rect width="%.1f" height="8" rx="2"/></svg>`, share*120))
}

// Names returns the series that have a value in some bar, for the legend.
func (c Chart) Names() (used []string) {
	for j, s := range c.series {
		if slices.ContainsFunc(c.bars, func(b bar) bool { return j < len(b.parts) && b.parts[j] > 0 }) {
			used = append(used, s.Name)
		}
	}
	return used
}
