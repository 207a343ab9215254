package finding

import (
	"bufio"
	"fmt"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/console"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/usage"
)

// The tables of usage fit into a narrow terminal.
func TestNarrowStats(t *testing.T) {
	t.Parallel()
	a := cli.New()
	r := treeline.Stats{Groups: map[usage.Key][]usage.Group{}}
	r.Total = usage.Amount{Sessions: 1200, Messages: 34_567, Cost: 123.45}
	r.Total.Tokens.Total = 12_345_678
	for _, key := range usage.Keys {
		for i := range 12 {
			g := usage.Group{Name: fmt.Sprintf("/home/me/some/project/%d/model", i), Amount: r.Total}
			if key == usage.Day {
				g.Name = fmt.Sprintf("2026-11-%02d", i+1)
			}
			r.Groups[key] = append(r.Groups[key], g)
		}
	}
	for _, width := range []int{20, 28, 40, 80} {
		var got strings.Builder
		out := &console.Output{Writer: bufio.NewWriter(&got), Width: width}
		printStats(a, out, r, nil)
		if err := out.Flush(); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(got.String()) {
			if n := screen.Width(strings.TrimRight(line, "\n"), false); n > width {
				t.Errorf("a line of %d columns on %d: %q; want no more", n, width, line)
			}
		}
		if width < 40 {
			continue
		}
		if !strings.Contains(got.String(), "$123.45\n") {
			t.Errorf("on %d columns there is no cost; want one:\n%s", width, &got)
		}
	}
}
