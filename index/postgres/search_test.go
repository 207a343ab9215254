package postgres_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/postgres"
	"github.com/treeline-dev/treeline/index/query"
)

// TestSearchPages: the answers to a query have all logs that fit, each once, the newest first, and not many more than asked for.
func TestSearchPages(t *testing.T) {
	t.Parallel()
	a := newArchive(t, "searchpages")
	for i := range 12 {
		words := "the plum is ripe"
		if i%3 == 0 {
			words = "ripe is the plum" // the same words, another phrase
		}
		a.create(fmt.Sprintf("s%02d", i), words)
	}
	a.finds(a.shared(), "nosuchword")
	x, err := postgres.Open(a.url, postgres.Options{})
	a.must(err)
	defer x.Close()
	for text, want := range map[string]int{"plum": 12, `"ripe is the"`: 4, `"plum is"`: 8, `"the ripe"`: 0} {
		q, err := query.Parse(text, query.Options{})
		a.must(err)
		sel := index.Selection{Sessions: true, Limit: 2}
		var names []string
		for {
			list, next, err := x.Search(t.Context(), sel, q)
			a.must(err)
			if len(list) > sel.Limit {
				t.Errorf("%s: %d logs at once", text, len(list))
			}
			for i := range list {
				names = append(names, list[i].Name)
			}
			if next == nil {
				break
			}
			sel.After = next
		}
		once := slices.Compact(slices.Sorted(slices.Values(names)))
		if len(names) != want || len(once) != want {
			t.Errorf("%s: %q, want %d logs", text, names, want)
		}
	}
}
