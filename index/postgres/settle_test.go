package postgres_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/postgres"
	"github.com/treeline-dev/treeline/index/query"
)

// TestSettled: after an update no keys wait for the index, which every search would have to read.
func TestSettled(t *testing.T) {
	t.Parallel()
	a := newArchive(t, "settled")
	a.create("a", "apricot")
	a.finds(a.shared(), "apricot", "a")
	c, err := pgx.Connect(t.Context(), a.url)
	a.must(err)
	defer c.Close(t.Context())
	var pages int
	a.must(c.QueryRow(t.Context(), "select gin_clean_pending_list('treeline_index.chunk_keys')").Scan(&pages))
	if pages != 0 {
		t.Errorf("%d pages of keys waited", pages)
	}
	_, err = c.Exec(t.Context(), "insert into treeline_index.chunk values (gen_random_uuid(), 0, 0, 0, 0, false, '', '{1,2}', '{3}')")
	a.must(err)
	a.must(c.QueryRow(t.Context(), "select gin_clean_pending_list('treeline_index.chunk_keys')").Scan(&pages))
	if pages == 0 {
		t.Error("keys do not wait") // then what is above proves nothing
	}
}

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
