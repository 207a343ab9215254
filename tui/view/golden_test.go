package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/tui/look"
)

// Frames of the demo, in every mode and both sizes. -update-frames rewrites them; check the differences.
func TestGolden(t *testing.T) {
	s := machine(t)
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		for _, c := range []struct{ name, title, keys string }{
			{"everything", "Prices are off by a cent", ""},
			{"beginning", "Prices are off by a cent", "g"},
			{"branch", "Prices are off by a cent", "["},
			{"unfolded", "Prices are off by a cent", "g j e"},
			{"focused", "Prices are off by a cent", "2 g"},
			{"model", "Prices are off by a cent", "c g"},
			{"changes", "Prices are off by a cent", "4"},
			{"tree", "Prices are off by a cent", "tab"},
			{"landmarks", "Prices are off by a cent", "tab p"},
			{"folded", "Prices are off by a cent", "tab E"},
			{"subagents", "Customers can return items", "g"},
			{"problems", "Tiles load twice", ""},
		} {
			name := fmt.Sprintf("%s-%dx%d", c.name, size[0], size[1])
			t.Run(name, func(t *testing.T) {
				r := ride(t, open(t, s, c.title), Options{Store: s}, size[0], size[1])
				r.press(strings.Fields(c.keys)...)
				r.golden(name, r.text())
			})
		}
	}
	t.Run("colours", func(t *testing.T) {
		r := ride(t, open(t, s, "Prices are off by a cent"), Options{Palette: look.Colours(true)}, 120, 40)
		r.press("g")
		r.golden("colours-120x40", strings.ReplaceAll(r.v.Draw(120, 40), "\x1b", "␛"))
	})
}
