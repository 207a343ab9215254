package postgres_test

import (
	"fmt"
	"slices"
	"strings"
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
	x, err := postgres.Open(a.url)
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

// TestLongNames: a log is selected by its name and by the last part of it, however long they are, and any text can be asked for.
func TestLongNames(t *testing.T) {
	t.Parallel()
	a := newArchive(t, "longnames")
	id := strings.Repeat("a", 700)
	l := a.create(id, "apricot")
	a.create("b", "apricot")
	a.finds(a.shared(), "apricot", id, "b")
	x, err := postgres.Open(a.url)
	a.must(err)
	defer x.Close()
	for _, sel := range []index.Selection{{Names: []string{l.Name}}, {Files: []string{index.LastPart(l.Name)}}, {IDs: []string{id}}} {
		list, err := x.Select(t.Context(), sel)
		if a.must(err); len(list) != 1 || list[0].Source+"/"+list[0].Name != l.Name {
			t.Errorf("%+v gives %d logs, want the one with that name", sel, len(list))
		}
	}
	const odd = "a\x00\xff"
	for _, sel := range []index.Selection{{Below: odd}, {Sources: []string{odd}}, {Dialects: []string{odd}}, {Names: []string{odd}}} {
		if list, err := x.Select(t.Context(), sel); err != nil || len(list) > 0 {
			t.Errorf("%+v gives %d logs and the error %v", sel, len(list), err)
		}
	}
}
