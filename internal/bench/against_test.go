package main

import (
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/difftest"
)

// TestCompare: the best of all rounds counts, a rate is worse if it is smaller, and a rounding difference is not a difference.
func TestCompare(t *testing.T) {
	read := func(tables ...[][]string) (s side, rows []string) {
		s.best = map[string]figure{}
		for _, lines := range tables {
			var out strings.Builder
			out.WriteString("go1, best of 3\n\n")
			printColumns(&out, append([][]string{{"what", "figure", "baseline"}}, lines...))
			var err error
			rows, err = readTable(strings.NewReader(out.String()), func(row string, f figure) {
				if best, ok := s.best[row]; !ok || f.better(best) {
					s.best[row] = f
				}
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		return s, rows
	}
	old, _ := read([][]string{
		{"time", "10.0 ms", "µ"}, {"rate", "3.20 GB/s", ""}, {"short", "0.04 ms", ""}, {"  same", "10 ms", ""}, {"  same", "100/s", ""}, {"gone", "1 MB", ""},
	})
	now, rows := read([][]string{
		{"time", "99.0 ms", "µ"}, {"rate", "2.00 GB/s", ""}, {"short", "0.05 ms", ""}, {"  same", "12 ms beyond", ""}, {"  same", "120/s", ""}, {"made", "1 MB", ""},
	}, [][]string{
		{"time", "10.5 ms", "µ"}, {"rate", "2.50 GB/s", ""}, {"short", "0.05 ms", ""}, {"  same", "12 ms beyond", ""}, {"  same", "90/s", ""}, {"made", "1 MB", ""},
	})
	old.name, now.name = "main", "now"
	var out strings.Builder
	err := compare(&out, &old, &now, rows)
	if err == nil || err.Error() != "1 of 6 rows are worse by more than 10 %" {
		t.Error(err)
	}
	want := `what        main       now           ratio
time        10.0 ms    10.5 ms       1.05
rate        3.20 GB/s  2.50 GB/s     0.78   worse
short       0.04 ms    0.05 ms       1.25
  same      10 ms      12 ms beyond  1.20
  same (2)  100/s      120/s         1.20
made                   1 MB                 new
`
	if diff := difftest.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
