package main

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"
)

// row is a line of the table. Ratio and target are numbers so that the verdict comes from them and from nothing else.
// A row without a ratio is there to be read, one without a target to be compared.
type row struct {
	what     string
	figure   string
	baseline string
	ratio    float64 // 0: the figure is compared with nothing
	unit     string  // of ratio and target; "" is times
	target   float64 // 0: none, the row is there for comparison
	most     bool    // the target is the most allowed, not the least wanted
}

type table struct{ rows []row }

func (t *table) add(r row) { t.rows = append(t.rows, r) }

// "below" also where the target is a maximum: it means that the target was missed.
func (r row) verdict() string {
	switch {
	case r.target == 0:
		return ""
	case r.most && r.ratio <= r.target, !r.most && r.ratio >= r.target:
		return "ok"
	}
	return "below"
}

// Numbers have three digits: more would be noise.
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

// best runs f several times and gives the least processor time that it took. What is short is run more often: on a busy
// machine it takes some luck to be left alone.
// The least and not the mean: whatever disturbs a run makes it slower.
func (b *bench) best(f func() error) (time.Duration, error) {
	least := time.Duration(1<<63 - 1)
	enough := time.Duration(b.rounds) * 100 * time.Millisecond
	for n, began := 0, time.Now(); n < b.rounds || n < 10*b.rounds && time.Since(began) < enough; n++ {
		runtime.GC() // what was left by the one before is not this one's to clear up
		start := clock()
		if err := f(); err != nil {
			return 0, err
		}
		least = min(least, clock()-start)
	}
	return max(least, 1), nil
}

// bestPieces is best for something long, which on a busy machine is never as lucky as something short that is held against
// it: it is done piece by piece, and of each piece the best counts. What prepare does before each run does not count.
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

// speed is GB a second.
func speed(bytes int, d time.Duration) float64 { return float64(bytes) / float64(d) }

// mb is decimal, like all sizes that are printed.
func mb(bytes int64) string { return fmt.Sprintf("%.3g MB", float64(bytes)/1e6) }
