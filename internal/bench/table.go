package main

import (
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
	ratio    float64 // 0: none
	unit     string  // of ratio and target; "" means times
	target   float64 // 0: none
	most     bool    // the target is a maximum, not a minimum
}

type table struct{ rows []row }

func (t *table) add(r row) { t.rows = append(t.rows, r) }

// verdict returns "below" for a target that was missed, also if it is a maximum.
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
	unit := r.unit
	if unit == "" {
		unit = "×"
	}
	number := func(x float64) string {
		if x == 0 {
			return ""
		}
		if x == float64(int(x)) {
			return fmt.Sprintf("%.0f %s", x, unit)
		}
		return fmt.Sprintf("%.3g %s", x, unit)
	}
	target := number(r.target)
	switch {
	case target == "":
	case r.most:
		target = "≤ " + target
	default:
		target = "≥ " + target
	}
	return []string{r.what, r.figure, r.baseline, number(r.ratio), target, r.verdict()}
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
func (b *bench) best(f func() error) (time.Duration, error) {
	least := time.Duration(1<<63 - 1)
	enough := time.Duration(b.rounds) * 100 * time.Millisecond
	for n, began := 0, time.Now(); n < b.rounds || n < 10*b.rounds && time.Since(began) < enough; n++ {
		runtime.GC() // a run does not pay for the garbage of the one before
		start := clock()
		if err := f(); err != nil {
			return 0, err
		}
		least = min(least, clock()-start)
	}
	return max(least, 1), nil
}

// bestPieces is best for something long, which on a busy machine is never undisturbed: it runs piece by piece, and the best
// of each piece counts. prepare runs before each round and is not measured.
func (b *bench) bestPieces(prepare func() error, pieces int, piece func(k int) error) (time.Duration, error) {
	least := make([]time.Duration, pieces)
	enough := time.Duration(b.rounds) * 200 * time.Millisecond
	for n, began := 0, time.Now(); n < b.rounds || n < 10*b.rounds && time.Since(began) < enough; n++ {
		if err := prepare(); err != nil {
			return 0, err
		}
		runtime.GC()
		for k := range pieces {
			start := clock()
			if err := piece(k); err != nil {
				return 0, err
			}
			if d := clock() - start; n == 0 || d < least[k] {
				least[k] = d
			}
		}
	}
	total := time.Duration(0)
	for _, d := range least {
		total += d
	}
	return max(total, 1), nil
}

// ms spells a time.
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

// speed returns GB per second.
func speed(bytes int, d time.Duration) float64 { return float64(bytes) / float64(d) }

// mb is decimal, like all sizes.
func mb(bytes int64) string { return fmt.Sprintf("%.3g MB", float64(bytes)/1e6) }
