package find

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestShortTogether: each of several short sessions that were read together is found by its own words, also after one of them has changed
// and another was removed.
func TestShortTogether(t *testing.T) {
	t.Parallel()
	m := newDesk(t)
	words := []string{"kestrel", "bullfinch", "nuthatch", "redstart"}
	say := func(i int, more string) {
		m.write(fmt.Sprintf("a/%d.jsonl", i), fmt.Sprintf(header, fmt.Sprint("s", i), "")+strings.Replace(needle, "needle", words[i]+more, 1))
	}
	for i := range words {
		say(i, "")
	}
	cache := t.TempDir()
	found := func(word string, want ...string) {
		t.Helper()
		res, err := m.kept(cache).Search(t.Context(), word, Options{})
		m.Must(err)
		var got []string
		for i := range res.Hits {
			got = append(got, string(res.Hits[i].Session.ID))
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s is found in %q, not in %q", word, got, want)
		}
	}
	for i, w := range words {
		found(w, fmt.Sprint("s", i))
	}
	say(1, " kestrel")
	found("kestrel", "s0", "s1")
	found("nuthatch", "s2")
	m.Must(os.Remove(m.path("a/2.jsonl")))
	found("nuthatch")
	found("redstart", "s3")
	found("bullfinch", "s1")
}
