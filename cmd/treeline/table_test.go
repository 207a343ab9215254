package main

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/difftest"
)

// A line fits if that is possible, nothing is left out or cut without need, and what must stay whole does.
func TestSqueeze(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 20_000 {
		var list []box
		for range 1 + r.IntN(7) {
			b := box{width: r.IntN(50), drop: r.IntN(4)}
			if r.IntN(2) == 0 {
				b.least = fewest + r.IntN(10)
			}
			list = append(list, b)
		}
		columns := 10 + r.IntN(150)
		got := append([]box(nil), list...)
		squeeze(got, columns)
		if need(list, true) <= columns {
			if diff := difftest.Diff(list, got); diff != "" {
				t.Fatalf("round %d: it fits %d columns (-wanted +got):\n%s", round, columns, diff)
			}
			continue
		}
		var stays, left []box // what must stay, and what is left out
		for i, b := range list {
			switch {
			case got[i].width > b.width, b.least == 0 && got[i].width != b.width && got[i].width != 0, b.drop == 0 && (got[i].width == 0) != (b.width == 0),
				got[i].width > 0 && got[i].width < min(b.width, fewest):
				t.Fatalf("round %d: %+v became %+v of %d columns", round, list, got, columns)
			case b.drop == 0:
				stays = append(stays, b)
			case got[i].width == 0 && b.width > 0:
				left = append(left, b)
			}
		}
		for i, b := range got {
			for _, l := range left {
				if b.width > 0 && b.drop > 0 && b.drop < l.drop {
					t.Fatalf("round %d: %d stays and %+v goes, of %+v", round, i, l, list)
				}
			}
		}
		if need(stays, false) <= columns && need(got, true) > columns {
			t.Fatalf("round %d: %+v became %+v, which do not fit %d columns", round, list, got, columns)
		}
	}
}

// Marks stay on their words when a snippet is wrapped and cleaned.
func TestMarked(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text, words string
		width             int
		want              []string
	}{
		{"in a pipe", "one two three", "two", 0, []string{"one <two> three"}},
		{"in one line", "one two three", "two", 40, []string{"one <two> three"}},
		{"on the second", "one of these words is far away", "far", 16, []string{"one of these", "words is <far>", "away"}},
		{"over two", "one of these words is far away", "these words", 16, []string{"one of <these>", "<words> is far", "away"}},
		{"after an escape", "\x1b[31m red", "red", 40, []string{`\x1b[31m <red>`}},
		{"in a line that is indented", "   one of these words is far away", "far", 16, []string{"   one of these words is <far> away"}},
		{"no words", "one two", "", 40, []string{"one two"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var marks [][2]int
			if from := strings.Index(tt.text, tt.words); tt.words != "" {
				marks = [][2]int{{from, from + len(tt.words)}}
			}
			got := marked(style{on: true}, tt.text, marks, tt.width)
			for i := range got {
				got[i] = strings.NewReplacer("\x1b[1;31m", "<", "\x1b[0m", ">").Replace(got[i])
			}
			if diff := difftest.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// A table of many rows, which are kept in several pages, is written as it was added, whole and cut to the width of a terminal.
func TestLongTable(t *testing.T) {
	t.Parallel()
	for _, width := range []int{0, 24} {
		rows := table{{name: "N", right: true, mark: same}, {name: "TEXT", mark: same, least: fewest}, {name: "END", mark: same}}
		var want strings.Builder
		const most = 300 // bytes of a text, whose length then takes two bytes
		wide := most
		if width > 0 {
			wide = width - len("1000  ") - len("  END")
		}
		fmt.Fprintf(&want, "   N  %-*s  END\n", wide, "TEXT")
		for i := range 1001 {
			text := strings.Repeat("é", i%(most+1))
			rows.add(fmt.Sprint(i), text, "x")
			if shown := []rune(text); len(shown) > wide {
				text = string(shown[:wide-1]) + "…"
			}
			fmt.Fprintf(&want, "%4d  %-*s  x\n", i, wide, text)
		}
		var got bytes.Buffer
		out := &output{Writer: bufio.NewWriter(&got), width: width}
		rows.write(out)
		if err := out.Flush(); err != nil {
			t.Fatal(err)
		}
		a, b := strings.Split(want.String(), "\n"), strings.Split(got.String(), "\n")
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Fatalf("width %d, line %d is %q, want %q", width, i, b[i], a[i])
			}
		}
		if len(a) != len(b) {
			t.Errorf("width %d: %d lines, want %d", width, len(b), len(a))
		}
	}
}
