package main

import (
	"regexp"
	"strings"
	"testing"
)

// TestDocument: a report has every row, those that miss their target first, and each promise either with its rows or with the command that
// measures it.
func TestDocument(t *testing.T) {
	fast := row{what: "treeline version, CPU", figure: "5.00 ms", ratio: 5, unit: "ms", target: 6, most: true}
	large := row{what: "the program without symbols", figure: "31 MB", ratio: 31, unit: "MB", target: 25, most: true}
	plain := row{what: "  and more", figure: "1 ms"}
	b := &bench{rounds: 3, missing: []string{"pi: no node\nhere"}}
	b.rows = []row{fast, large, plain}
	b.parts = []part{{name: "command", rows: b.rows}}
	got := string(b.document(machine{facts: [][2]string{{"commit", "abc"}}}))
	for _, want := range []string{
		"| commit | abc |\n", "Of 2 rows with a target 1 meet it. These do not:\n\n| what |",
		"| the program without symbols | 31 MB |  | 31 MB | ≤ 25 MB | below |\n", "\n## command\n", "| … and more | 1 ms |",
		"| the program has at most 25 MB without symbols | the program without symbols | 0 of 1 met |\n",
		"| `treeline version` takes at most 6 ms of CPU | treeline version, CPU | all of 1 met |\n", "\nLeft out: pi: no node.\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %q in\n%s", want, got)
		}
	}
	_, elsewhere, _ := strings.Cut(got, "Not measured here:")
	for _, p := range promises {
		if rows, _ := b.measured(p); len(rows) == 0 != strings.Contains(elsewhere, "| "+p.what+" |") {
			t.Errorf("%q has %d rows, and is not in the right table", p.what, len(rows))
		}
	}
}

// TestPromises: each promise is measured by rows or names the command that measures it.
func TestPromises(t *testing.T) {
	for _, p := range promises {
		if p.rows == "" && p.elsewhere == "" {
			t.Errorf("%q: nothing measures it", p.what)
		}
		if _, err := regexp.Compile(p.rows); err != nil {
			t.Error(err)
		}
	}
}
