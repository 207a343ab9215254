package postgres_test

import (
	"slices"
	"testing"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/index/word"
)

// session puts a session whose chunks all have some words. used is when it was last used.
func (m *merging) session(name string, before *index.Stamp, size int64, used int64, chunks int, words ...string) error {
	l := index.Log{Name: name, Before: before, Stamp: index.Stamp{Generation: "1", Size: size}}
	l.Summary = index.Summary{Session: true, Dialect: "omp"}
	l.Facts = &index.Facts{Used: used, When: used}
	for n := range int64(chunks) {
		c := index.Chunk{From: 10 * n, To: 10 * (n + 1)}
		for _, w := range words {
			c.Words = append(c.Words, word.Key([]byte(w)))
		}
		l.Chunks = append(l.Chunks, c)
	}
	return m.x.Put(m.t.Context(), "", index.Update{Source: "a/b", Put: []index.Log{l}})
}

// found returns the names of the logs that a query may find, on pages of that many logs.
func (m *merging) found(text string, limit int) (names []string) {
	q, err := query.Parse(text, query.Options{})
	if err != nil {
		m.t.Fatal(err)
	}
	for sel := (index.Selection{Sessions: true, Limit: limit}); ; {
		list, next, err := m.x.Search(m.t.Context(), sel, q)
		if err != nil {
			m.t.Fatal(err)
		}
		for i := range list {
			names = append(names, list[i].Name)
		}
		if next == nil {
			return names
		}
		sel.After = next
	}
}

// TestSearchOld: chunks that were put before very many others are found, both by a rare word and by a frequent one.
func TestSearchOld(t *testing.T) {
	t.Parallel()
	m := newMerging(t, "searchold")
	for _, err := range []error{
		m.session("old", nil, 1, 100, 1, "plum", "quince"),
		m.session("older", nil, 1, 10, 1, "plum", "medlar"),
		m.session("many", nil, 1, 50, 17_000, "plum"), // more chunks than are looked up first
		m.session("other", nil, 1, 60, 1, "cherry"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string][]string{
		"quince": {"old"}, "plum": {"old", "many", "older"}, "cherry": {"other"}, "plum medlar": {"older"}, "plum cherry": nil, "sloe": nil,
	} {
		for _, limit := range []int{1, 10} {
			if got := m.found(text, limit); !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", text, got, want)
			}
		}
	}
	// The newest log is on the first page, though it was put first: the search does not first read everything that may match.
	q, _ := query.Parse("plum", query.Options{})
	list, next, err := m.x.Search(t.Context(), index.Selection{Sessions: true, Limit: 1}, q)
	if err != nil || len(list) != 1 || list[0].Name != "old" || next == nil {
		t.Errorf(`%v, %v, %v; want no error, len(list) == 1, list[0].Name == "old", next != nil`, list, next, err)
	}
}
