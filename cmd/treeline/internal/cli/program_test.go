package cli

import (
	"slices"
	"testing"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/find/listing"
	"github.com/treeline-dev/treeline/place"
)

// An agent with several formats is counted once.
func TestTally(t *testing.T) {
	t.Parallel()
	var sources []place.SourceInfo
	var rows []place.Row
	for _, d := range treeline.Dialects() {
		if name := d.Name(); name != "codelia-state" && name != "codelia-state-doc" && name != "pi" {
			continue
		}
		sources = append(sources, place.SourceInfo{Source: place.Source{Dialect: d}, Sessions: 2})
		row := place.Row{Dialect: d}
		row.ID = "s"
		rows = append(rows, row)
	}
	if sessions, agents := Tally(sources); sessions != 6 || !slices.Equal(agents, []string{"pi", "codelia"}) {
		t.Errorf("%d sessions of %q, want 6 of pi and codelia", sessions, agents)
	}
	list := listing.Of(rows)
	if list.Agents() != 2 || !slices.Equal(list.Formats(), []string{"codelia-state", "codelia-state-doc", "pi"}) {
		t.Errorf("%d agents, formats %q; want 2 agents and 3 formats", list.Agents(), list.Formats())
	}
}
