package find

import (
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/place"
)

// TestWithin: the rows of some directories are those of the whole catalogue, and the others are counted. Logs that name no directory, or
// are not sessions, are never left out.
func TestWithin(t *testing.T) {
	t.Parallel()
	m := newDesk(t)
	session := func(id, cwd string) string {
		return strings.Replace(fmt.Sprintf(header, id, ""), `"cwd":"/p"`, fmt.Sprintf(`"cwd":%q`, cwd), 1) + needle
	}
	for i, cwd := range []string{"/p", "/q", "/p", "/r", ""} {
		m.write(fmt.Sprintf("a/%d.jsonl", i), session(fmt.Sprint("s", i), cwd))
	}
	m.write("a/other.jsonl", "not a session\n")
	f := m.kept(t.TempDir())
	all, err := f.Catalogue(t.Context(), RefreshOptions{})
	m.Must(err)
	for _, dirs := range [][]string{{"/p"}, {"/q", "/r"}, {"/nowhere"}, {"/p", "/q", "/r"}} {
		var told []string
		rows, left, err := f.Within(t.Context(), RefreshOptions{}, func(named iter.Seq[string], rows []place.Row) func(string) bool {
			told = slices.Compact(slices.Sorted(named))
			for i := range rows {
				if rows[i].CWD != "" {
					t.Errorf("%s is told as one without a directory", rows[i].Path)
				}
			}
			return func(cwd string) bool { return slices.Contains(dirs, cwd) }
		})
		m.Must(err)
		if want := []string{"/p", "/q", "/r"}; !slices.Equal(told, want) {
			t.Errorf("the directories are %q, not %q", told, want)
		}
		var want, got []string
		for i := range all {
			if r := &all[i]; r.CWD == "" || slices.Contains(dirs, r.CWD) {
				want = append(want, fmt.Sprint(r.Path, r.Summary, *r.Known, r.Err))
			}
		}
		for i := range rows {
			got = append(got, fmt.Sprint(rows[i].Path, rows[i].Summary, *rows[i].Known, rows[i].Err))
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) || left != len(all)-len(want) {
			t.Errorf("in %q: %d left out and\n%s\nwant %d and\n%s", dirs, left, strings.Join(got, "\n"), len(all)-len(want), strings.Join(want, "\n"))
		}
	}
}

// TestShortTogether: short sessions that were read together are found each by its own words, also after one of them has changed and after
// another is gone.
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
