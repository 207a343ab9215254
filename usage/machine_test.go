package usage_test

import (
	"os"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/usage"
)

func TestMain(m *testing.M) { os.Exit(soaktest.Main(m)) }

// TestMachine: on a machine with sessions of all agents, the sums are what the generator wrote: nothing is missing and nothing counts
// twice.
func TestMachine(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		w := world.New(t, withDatabases)
		told, err := gen.Machine(w.Home, seed)
		w.Must(err)
		rows := catalogue(w)
		report := usage.Look(rows).Sum(rows, usage.Options{Zone: time.UTC, By: []usage.Key{usage.Agent}})
		got := map[string]gen.Told{}
		for _, g := range report.Groups[usage.Agent] {
			k := g.Tokens
			got[g.Name] = gen.Told{
				Sessions: g.Sessions, Messages: g.Messages, Cost: g.Cost,
				Input: k.Input, Output: k.Output, CacheRead: k.CacheRead, CacheWrite: k.CacheWrite, Total: k.Total,
			}
		}
		if diff := difftest.Diff(told, got, difftest.Roughly); diff != "" {
			t.Errorf("seed %d (-written +counted):\n%s", seed, diff)
		}
	}
}

// catalogue returns the rows of all sessions of a world.
func catalogue(w *world.World) []place.Row {
	w.Helper()
	m := w.Machine()
	defer m.Close()
	rows, err := find.New(m, index.Open(index.Options{}), time.Now).Catalogue(w.Context(), find.RefreshOptions{})
	w.Must(err)
	return rows
}
