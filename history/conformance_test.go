package history

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestConformance: the same prompts and the same questions lead to the same answers as in omp 13.19, which wrote the file. Rows are
// compared by their ids: omp added them all within the same few seconds.
func TestConformance(t *testing.T) {
	t.Parallel()
	type prompt struct {
		ID     int64
		Prompt string
		CWD    string
	}
	var golden struct {
		Given, Rows []prompt
		Answers     map[string][]int64
	}
	b, err := os.ReadFile(filepath.Join("testdata", "omp13.json"))
	if err == nil {
		err = json.Unmarshal(b, &golden)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(golden.Given) == 0 || len(golden.Answers) == 0 {
		t.Fatal("nothing to compare with")
	}
	h := open(t, newPath(t))
	for _, p := range golden.Given {
		if err := h.Add(p.Prompt, p.CWD); err != nil {
			t.Fatal(err)
		}
	}
	add(t, h)
	list, err := h.Recent(t.Context(), MaxLimit)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(list)
	if len(list) != len(golden.Rows) {
		t.Fatalf("%d rows instead of %d", len(list), len(golden.Rows))
	}
	for i, r := range golden.Rows {
		if got := (prompt{list[i].ID, list[i].Text, list[i].CWD}); got != r {
			t.Errorf("row %d: %+v, not %+v", i, got, r)
		}
	}
	// In the program a NUL ends the query in the middle of a string, which is an error.
	delete(golden.Answers, "a\x00b")
	for query, ids := range golden.Answers {
		got := []int64{}
		if trim(query) != "" { // to an empty query the program has an answer of its own: nothing
			list, err := h.Search(t.Context(), Query{Text: query, Limit: MaxLimit})
			if err != nil {
				t.Errorf("%q: %v", query, err)
			}
			for _, p := range list {
				got = append(got, p.ID)
			}
		}
		if !slices.Equal(got, ids) {
			t.Errorf("%q: %v, not %v", query, got, ids)
		}
	}
}
