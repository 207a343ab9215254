package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"
)

// row is a line of the table. A row without a ratio or without a target is informative.
type row struct {
	what     string
	figure   string
	baseline string
	ratio    float64 // 0: not shown
	unit     string  // of ratio and target; "" means times
	target   float64 // 0: not shown
	most     bool    // the target is a maximum, not a minimum
}

type table struct{ rows []row }

func (t *table) add(r row) { t.rows = append(t.rows, r) }

// slower adds a row of a duration that may be at most target times its baseline; 0 means no target.
func (t *table) slower(what string, d time.Duration, name string, base time.Duration, target float64) {
	t.add(row{what: what, figure: ms(d), baseline: name + " " + ms(base), ratio: times(d, base), target: target, most: true})
}

// faster adds a row of a duration whose baseline must be at least target times as long; 0 means no target.
func (t *table) faster(what string, d time.Duration, name string, base time.Duration, target float64) {
	t.add(row{what: what, figure: ms(d), baseline: name + " " + ms(base), ratio: times(base, d), target: target})
}

// memory adds a row of a number of bytes and its limit in MB.
func (t *table) memory(what string, bytes int64, baseline string, limit float64) {
	t.add(row{what: what, figure: mb(bytes), baseline: baseline, ratio: float64(bytes) / 1e6, unit: "MB", target: limit, most: true})
}

// verdict returns "below" for a missed target, even if the target is a maximum.
func (r row) verdict() string {
	switch {
	case r.target == 0:
		return ""
	case r.most && r.ratio <= r.target, !r.most && r.ratio >= r.target:
		return "ok"
	}
	return "below"
}

// cells prints numbers with three digits; more would be noise.
func (r row) cells() []string {
	unit := cmp.Or(r.unit, "×")
	number := func(sign string, x float64) string {
		switch x {
		case 0:
			return ""
		case float64(int(x)):
			return fmt.Sprintf("%s%.0f %s", sign, x, unit)
		}
		return fmt.Sprintf("%s%.3g %s", sign, x, unit)
	}
	sign := "≥ "
	if r.most {
		sign = "≤ "
	}
	return []string{r.what, r.figure, r.baseline, number("", r.ratio), number(sign, r.target), r.verdict()}
}

func (t *table) print(w io.Writer) {
	lines := [][]string{{"what", "figure", "baseline", "ratio", "target", ""}}
	for _, r := range t.rows {
		lines = append(lines, r.cells())
	}
	printColumns(w, lines)
}

// printColumns aligns columns by characters; no wide ones are printed here.
func printColumns(w io.Writer, lines [][]string) {
	widths := make([]int, len(lines[0]))
	for _, cells := range lines {
		for i, c := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	for _, cells := range lines {
		var b strings.Builder
		for i, c := range cells {
			b.WriteString(c + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c)+2))
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}

// best runs f several times and returns the least CPU time, since every disturbance makes a run slower. Short functions run
// more often.
func (b *bench) best(f func()) time.Duration {
	return b.bestPieces(100*time.Millisecond, runtime.GC, 1, func(int) { f() })
}

// bestPieces is best for a long function, which on a busy machine is never undisturbed: it runs piece by piece, and the best of each piece
// counts. prepare runs before each round and is not measured: a run does not pay for the garbage of the one before.
func (b *bench) bestPieces(enough time.Duration, prepare func(), pieces int, piece func(k int)) (total time.Duration) {
	least := make([]time.Duration, pieces)
	enough *= time.Duration(b.rounds)
	for n, began := 0, time.Now(); n < b.rounds || n < 10*b.rounds && time.Since(began) < enough; n++ {
		prepare()
		for k := range pieces {
			start := clock()
			piece(k)
			if d := clock() - start; n == 0 || d < least[k] {
				least[k] = d
			}
		}
	}
	for _, d := range least {
		total += d
	}
	return max(total, 1)
}

// ms formats a time.
func ms(d time.Duration) string {
	switch x := float64(d) / 1e6; {
	case x < 10:
		return fmt.Sprintf("%.2f ms", x)
	case x < 100:
		return fmt.Sprintf("%.1f ms", x)
	default:
		return fmt.Sprintf("%.0f ms", x)
	}
}

// times returns the ratio of two durations.
func times(d, base time.Duration) float64 { return float64(d) / float64(base) }

// speed returns GB per second.
func speed(bytes int, d time.Duration) float64 { return float64(bytes) / float64(d) }

// mb formats a size; it is decimal, like all sizes.
func mb(bytes int64) string { return fmt.Sprintf("%.3g MB", float64(bytes)/1e6) }
