package postgres_test

import (
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/find"
)

// TestDoubles: if an agent has left several logs of one session, an archive shows the one that the agent continues, as the list of the
// agent's own folder does, whichever is added, changed or removed.
func TestDoubles(t *testing.T) {
	t.Parallel()
	a := newArchive(t, "doubles")
	shared := a.shared()
	const (
		header = `{"sessionId":"11111111-0000-4000-8000-000000000001","projectHash":"%h","startTime":"2026-03-02T10:00:00.000Z","lastUpdated":"2026-03-02T10:00:00.000Z","kind":"main"}`
		prompt = `{"id":"u1","timestamp":"2026-03-02T10:01:00.000Z","type":"user","content":[{"text":"How deep is the pond?"}]}`
		answer = `{"id":"g1","timestamp":"2026-03-02T10:02:00.000Z","type":"gemini","content":"The pond is two metres deep."}`
		folder = "one-00000001/gemini/garden/chats/session-2026-03-02T"
	)
	create := func(name string, lines ...string) backend.Log {
		var records [][]byte
		for _, line := range lines {
			records = append(records, []byte(strings.Replace(line, "%h", strings.Repeat("a", 64), 1)))
		}
		l, err := a.b.Create(t.Context(), folder+name+"-11111111.jsonl", records...)
		a.must(err)
		return l
	}
	check := func(what string, want ...string) {
		t.Helper()
		a.sameRows(a.local(), shared, 0)
		a.sameHits(a.local(), shared, "pond", find.Options{})
		page, err := shared.List(t.Context(), find.ListOptions{Total: true})
		a.must(err)
		var names []string
		for i := range page.Rows {
			name := page.Rows[i].Path
			names = append(names, strings.TrimSuffix(name[strings.LastIndex(name, "T")+1:], "-11111111.jsonl"))
		}
		if strings.Join(names, " ") != strings.Join(want, " ") || page.Total != len(want) {
			t.Errorf("%s: %q of %d, want %q", what, names, page.Total, want)
		}
	}
	first := create("10-00", header, prompt)
	check("one log", "10-00")
	create("11-00", header)
	check("one without a prompt", "10-00")
	third := create("12-00", header, prompt, answer)
	check("a later copy", "12-00")
	_, err := a.b.Append(t.Context(), first, []byte(strings.ReplaceAll(answer, "10:02", "10:05")))
	a.must(err)
	check("the first one again", "10-00")
	first, err = a.b.Stat(t.Context(), first.Name)
	a.must(err)
	a.must(a.b.Remove(t.Context(), first))
	check("without the first one", "12-00")
	a.must(a.b.Remove(t.Context(), third))
	check("the one without a prompt alone", "11-00")
}
