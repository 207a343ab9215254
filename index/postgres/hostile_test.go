package postgres_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/find"
)

// Sessions with texts that a database refuses are listed and found, and do not keep other sessions from being listed.
func TestHostileLogs(t *testing.T) {
	t.Parallel()
	a := newArchive(t, "hostile")
	long := strings.Repeat("x", 100_000)
	// The one with control characters is not JSON.
	texts := []string{`a\u0000b`, "a\xffb", `\ud800`, long, `' or 1=1; drop schema treeline cascade; --`, `%_\\`, "\x01\x7f", `$1 %s {}`}
	put := func(name, text string) {
		t.Helper()
		_, err := a.b.(backend.Mirror).Overwrite(a.Context(), backend.Log{Name: name}, "", strings.NewReader(text))
		a.must(err)
	}
	for i, bad := range texts {
		put(fmt.Sprintf("laptop-00000001/omp/-p/%d.jsonl", i), fmt.Sprintf(`{"type":"session","version":3,"id":"%[1]s","timestamp":"%[1]s","cwd":"/%[1]s","title":"%[1]s","parentSession":"%[1]s"}`+"\n"+
			`{"type":"session_info","id":"i1","parentId":null,"timestamp":"%[1]s","name":"%[1]s"}`+"\n"+
			`{"type":"message","id":"%[1]s","parentId":"i1","timestamp":"2026-02-16T10:00:01.000Z","message":{"role":"assistant","model":"%[1]s","provider":"%[1]s","usage":{"input":1e400,"cost":{"total":1e308}},"content":[{"type":"text","text":"tomatoes %[1]s"}]}}`+"\n", bad))
		put(fmt.Sprintf("laptop-00000001/claude/-p/%d.jsonl", i), fmt.Sprintf(`{"type":"user","uuid":"%[1]s","parentUuid":null,"sessionId":"%[1]s","cwd":"%[1]s","timestamp":"%[1]s","message":{"role":"user","content":"tomatoes"}}`+"\n"+
			`{"type":"custom-title","customTitle":"%[1]s","sessionId":"%[1]s"}`+"\n", bad))
		put(fmt.Sprintf("laptop-00000001/codex/2026/01/01/rollout-2026-01-01T00-00-00-%d.jsonl", i), fmt.Sprintf(`{"timestamp":"%[1]s","type":"session_meta","payload":{"id":"%[1]s","cwd":"%[1]s","timestamp":"%[1]s"}}`+"\n"+
			`{"timestamp":"%[1]s","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"tomatoes"}]}}`+"\n", bad))
		put(fmt.Sprintf("laptop-00000001/codelia/2026/02/03/7f1d7b7a-0000-4000-8000-00000000000%d.jsonl", i), fmt.Sprintf(
			`{"type":"header","schema_version":1,"run_id":"%[1]s","session_id":"%[1]s","started_at":"%[1]s","prompt":"tomatoes","runtime":{"cwd":"%[1]s"}}`+"\n", bad))
		put(fmt.Sprintf("laptop-00000001/%s/x.jsonl", strings.Trim(strings.ToValidUTF8(bad[:min(len(bad), 50)], ""), "\x00/ab")+"omp"), "no session\n")
	}
	// Hashes do not compress.
	random := strings.Builder{}
	for n := range 40 {
		fmt.Fprintf(&random, "%x", sha256.Sum256([]byte{byte(n)}))
	}
	noise := random.String()
	sources := []string{noise[:1900], noise[:1000], strings.Repeat("ü", 900)}
	for i, source := range sources { // names are as long as possible
		put("laptop-00000001/"+source+"/"+noise[:1977-len(source)]+".jsonl", fmt.Sprintf(
			`{"type":"session","version":3,"id":"%[1]s%[2]d","timestamp":"2026-02-16T10:00:00.000Z","cwd":"%[1]s","title":"%[1]s"}`+"\n", noise[:599], i))
	}
	put("laptop-00000001/omp/-p/good.jsonl", `{"type":"session","version":3,"id":"good","timestamp":"2026-02-16T10:00:00.000Z","cwd":"/good"}`+"\n"+
		`{"type":"message","id":"m1","parentId":null,"timestamp":"2026-02-16T10:00:01.000Z","message":{"role":"user","content":"tomatoes"}}`+"\n")
	f := a.shared()
	page, err := f.List(a.Context(), find.ListOptions{Total: true})
	a.must(err)
	var names []string
	for i := range page.Rows {
		names = append(names, page.Rows[i].Source.Dialect.Name()+" "+page.Rows[i].Log.Name)
	}
	if page.Total != len(page.Rows) || len(names) != 3*len(texts)-2+len(sources) || !slices.Contains(names, "omp -p/good.jsonl") {
		t.Errorf("%d of %d: %q", len(names), page.Total, names)
	}
	res, err := f.Search(a.Context(), "tomatoes", find.Options{})
	a.must(err)
	if len(res.Hits) != 3*len(texts)-2 {
		t.Errorf("%d hits", len(res.Hits))
	}
}

// A session whose id the database refuses, and which grows when it is made valid, does not keep later logs from the list.
func TestHostileDoubles(t *testing.T) {
	t.Parallel()
	a := newArchive(t, "hostiledoubles")
	f := a.shared()
	for n, id := range []string{strings.Repeat(`\u0000`, 400), strings.Repeat("x", 599) + "ü", strings.Repeat("ü", 400), "good"} {
		_, err := a.b.Create(a.Context(), fmt.Sprintf("one-00000001/gemini/garden/chats/session-2026-03-02T1%d-00-11111111.jsonl", n),
			fmt.Appendf(nil, `{"sessionId":"%s","projectHash":"%s","startTime":"2026-03-02T10:00:00.000Z","lastUpdated":"2026-03-02T10:00:00.000Z","kind":"main"}`, id, strings.Repeat("a", 64)),
			[]byte(`{"id":"u1","timestamp":"2026-03-02T10:01:00.000Z","type":"user","content":[{"text":"How deep is the pond?"}]}`))
		a.must(err)
		page, err := f.List(a.Context(), find.ListOptions{Total: true})
		a.must(err)
		if page.Total != n+1 {
			t.Errorf("%d logs in the list, want %d", page.Total, n+1)
		}
	}
}
