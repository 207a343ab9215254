package console

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/difftest"
)

// A line fits if possible, nothing is dropped or cut without need, and what must stay whole does.
func TestSqueeze(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 20_000 {
		var list []box
		for range 1 + r.IntN(7) {
			b := box{width: r.IntN(50), drop: r.IntN(4)}
			if r.IntN(2) == 0 {
				b.least = Fewest + r.IntN(10)
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
				got[i].width > 0 && got[i].width < min(b.width, Fewest):
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

// A table of many rows, which take several pages of memory, is written as it was added, both whole and cut to the width of a terminal.
func TestLongTable(t *testing.T) {
	t.Parallel()
	for _, width := range []int{0, 24} {
		rows := Table{{Name: "N", Right: true}, {Name: "TEXT", Least: Fewest}, {Name: "END"}}
		var want strings.Builder
		const most = 300 // length of a text in bytes, which takes two bytes to store
		wide := most
		if width > 0 {
			wide = width - len("1000  ") - len("  END")
		}
		fmt.Fprintf(&want, "   N  %-*s  END\n", wide, "TEXT")
		for i := range 1001 {
			text := strings.Repeat("é", i%(most+1))
			rows.Add(fmt.Sprint(i), text, "x")
			if shown := []rune(text); len(shown) > wide {
				text = string(shown[:wide-1]) + "…"
			}
			fmt.Fprintf(&want, "%4d  %-*s  x\n", i, wide, text)
		}
		var got bytes.Buffer
		out := &Output{Writer: bufio.NewWriter(&got), Width: width}
		rows.Write(out)
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
