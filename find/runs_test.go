package find

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/index"
)

// TestRunsStayKnown: a list of sessions keeps what a search found out about runs. It is forgotten when their place is no longer a place of
// runs.
func TestRunsStayKnown(t *testing.T) {
	t.Parallel()
	m := newDesk(t)
	m.write("../../../.codelia/sessions/2026/02/03/8f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a.jsonl",
		`{"type":"header","schema_version":1,"run_id":"8f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a","started_at":"2026-02-03T12:00:00.123Z"}`+"\n"+
			`{"type":"run.start","run_id":"8f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a","ts":"2026-02-03T12:00:00.456Z","input":{"type":"text","text":"turnips"}}`+"\n")
	cache := t.TempDir()
	known := func() (n int) {
		for _, src := range index.Open(index.Options{Dir: cache}).Catalogue().Sources {
			if strings.HasPrefix(src.Key, "runs\x00") {
				n += src.Logs.Len()
			}
		}
		return n
	}
	s := m.kept(cache)
	if res, err := s.Search(t.Context(), "turnips", Options{}); err != nil || len(res.Hits) != 1 {
		t.Fatalf("the run is not found: %v, %v", res, err)
	}
	if _, err := s.Catalogue(t.Context(), RefreshOptions{}); err != nil {
		t.Fatal(err)
	}
	if n := known(); n != 1 {
		t.Errorf("%d runs are known after a list of sessions, want 1", n)
	}
	m.Home = t.TempDir()
	if _, err := m.kept(cache).Catalogue(t.Context(), RefreshOptions{}); err != nil {
		t.Fatal(err)
	}
	if n := known(); n != 0 {
		t.Errorf("%d runs are known of a place without runs", n)
	}
}

// TestRunsGoneMeanwhile: a search that forgets runs may move all signatures to another file. It still finds the sessions, and reports no
// damage.
func TestRunsGoneMeanwhile(t *testing.T) {
	t.Parallel()
	m, cache := newDesk(t), t.TempDir()
	search := func(want int) {
		t.Helper()
		x := index.Open(index.Options{Dir: cache, Garbage: 1, Notice: func(text string) { t.Error(text) }})
		defer x.Close()
		res, err := m.finder(x).Search(t.Context(), "needle", Options{})
		if err != nil || len(res.Hits) != want {
			t.Fatalf("%d hits, not %d: %v", len(res.Hits), want, err)
		}
	}
	var words strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&words, "word%d ", i)
	}
	const run = "../../../.codelia/sessions/2026/02/03/8f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a.jsonl"
	m.write(run, `{"type":"header","schema_version":1,"run_id":"8f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a","started_at":"2026-02-03T12:00:00.123Z"}`+"\n"+
		`{"type":"run.start","run_id":"8f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a","ts":"2026-02-03T12:00:00.456Z","input":{"type":"text","text":"`+words.String()+`"}}`+"\n")
	search(0)
	m.write("a/1.jsonl", fmt.Sprintf(header, "s1", "")+
		needle)
	search(1)
	if err := os.Remove(m.path(run)); err != nil {
		t.Fatal(err)
	}
	search(1)
	known := index.Open(index.Options{Dir: cache}).Catalogue()
	if len(known.Sources) != 1 || known.Sources[0].Logs.Len() != 1 {
		t.Errorf("the session is not known any more: %d sources", len(known.Sources))
	}
}

// TestRunsUnread: what was added to a run is found, even if it could not be read for the index.
func TestRunsUnread(t *testing.T) {
	t.Parallel()
	m := newDesk(t)
	const name = "8f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a"
	head := `{"type":"header","schema_version":1,"run_id":"` + name + `","started_at":"2026-02-03T12:00:00.123Z"}` + "\n"
	said := `{"type":"run.start","run_id":"` + name + `","ts":"2026-02-03T12:00:00.456Z","input":{"type":"text","text":"%s"}}` + "\n"
	const path = "../../../.codelia/sessions/2026/02/03/" + name + ".jsonl"
	reads := 0
	f := m.finder(nil, func(b backend.Backend) backend.Backend { return &failing{b, name + ".jsonl", &reads} })
	m.write(path, head+fmt.Sprintf(said, "turnips"))
	if n := len(m.search(f, "turnips", Options{}).Hits); n != 1 || reads != 1 {
		t.Fatalf("%d hits after %d reads, want one", n, reads)
	}
	m.write(path, head+fmt.Sprintf(said, "turnips")+fmt.Sprintf(said, "radishes"))
	problems := 0
	if n := len(m.search(f, "radishes", Options{Problem: func(error) { problems++ }}).Hits); n != 1 || problems != 1 {
		t.Errorf("%d hits and %d problems, want one of each", n, problems)
	}
}
