package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/redact"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/wire"
)

func TestMain(m *testing.M) { os.Exit(soaktest.Main(m)) }

var update = flag.Bool("update", false, "write the golden files")

// Secrets of the fixture. They are put together here so that other scanners do not report them.
const (
	awsKey   = "AKIA" + "QPZ7WRT4KM2XN6SD"
	password = "hunter2" + "x9"
)

// fixture opens the session of testdata with its secrets.
func fixture(t *testing.T) *store.Session {
	t.Helper()
	text, err := os.ReadFile("testdata/session.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	w := world.New(t)
	path := filepath.Join(t.TempDir(), "session.jsonl")
	filled := strings.NewReplacer("<AWS>", awsKey, "<PW>", password).Replace(string(text))
	if err := os.WriteFile(path, []byte(filled), 0o600); err != nil {
		t.Fatal(err)
	}
	return w.View(path, store.OpenOptions{})
}

func written(t *testing.T, s *store.Session, o Options) (string, *Report) {
	t.Helper()
	var b bytes.Buffer
	r, err := Write(t.Context(), &b, s, o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Size != int64(b.Len()) {
		t.Errorf("%d bytes, the report says %d", b.Len(), r.Size)
	}
	return b.String(), r
}

// TestGolden checks Markdown, text and JSON of a session with branches, tools and hostile texts.
func TestGolden(t *testing.T) {
	t.Parallel()
	s := fixture(t)
	leaf := session.EntryID("a4")
	for name, o := range map[string]Options{
		"path.md":    {Format: Markdown, Redact: true},
		"tree.md":    {Format: Markdown, Redact: true, AllBranches: true, Hide: []string{"ACME-corp"}},
		"leaf.md":    {Format: Markdown, Redact: true, Leaf: &leaf},
		"tree.txt":   {Format: Text, Redact: true, AllBranches: true, Home: "/home/bob"},
		"path.json":  {Format: JSON, Redact: true},
		"tree.json":  {Format: JSON, Redact: true, AllBranches: true},
		"plain.json": {Format: JSON, Leaf: &leaf},
	} {
		got, _ := written(t, s, o)
		got = strings.NewReplacer(awsKey, "<AWS>", password, "<PW>", filepath.Dir(s.Path()), "/tmp").Replace(got)
		if o.Redact && (strings.Contains(got, "<AWS>") || strings.Contains(got, "<PW>")) {
			t.Errorf("%s has a secret", name)
		}
		path := filepath.Join("testdata", "golden", name)
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := difftest.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestJSON: the export is a wire.Export.
func TestJSON(t *testing.T) {
	t.Parallel()
	got, r := written(t, fixture(t), Options{Format: JSON, AllBranches: true})
	var e wire.Export
	if err := json.Unmarshal([]byte(got), &e); err != nil {
		t.Fatal(err)
	}
	if len(e.Entries) != 12 || r.Entries != 12 || e.Session.ID != "0199-export" {
		t.Errorf("%d entries of %s", len(e.Entries), e.Session.ID)
	}
}

// TestRedactions: each redaction is reported once, with its place, however often the entry is read. Nothing else reveals the secret.
func TestRedactions(t *testing.T) {
	t.Parallel()
	s := fixture(t)
	log, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range Formats {
		got, r := written(t, s, Options{Format: f, Redact: true, AllBranches: true})
		if strings.Contains(got, awsKey) || strings.Contains(got, password) || strings.Contains(got, awsKey[:10]) {
			t.Errorf("%s has a secret", f)
		}
		var places []string
		for _, x := range r.Redactions {
			entry := string(x.Entry)
			if entry == "a5" { // a page shows a label at the entry that has it
				entry = "l1"
			}
			places = append(places, entry+" "+x.Kind+" "+x.Hint)
			if at := log[x.Offset:]; x.Entry != "a5" && !bytes.HasPrefix(at, []byte(awsKey)) && !bytes.HasPrefix(at, []byte(password)) {
				t.Errorf("%s: nothing at offset %d", f, x.Offset)
			}
		}
		if diff := difftest.Diff([]string{"p1 aws access key AKIA…", "r1 password hu…", "l1 password hu…"}, places); diff != "" {
			t.Errorf(`%s: %s; want diff == ""`, f, diff)
		}
		if f == HTML {
			if diff := difftest.Diff([]KindCount{{"password", 2}, {"aws access key", 1}}, r.Kinds()); diff != "" {
				t.Error(diff)
			}
		}
	}
	got, r := written(t, s, Options{Format: Markdown})
	if !strings.Contains(got, awsKey) || len(r.Redactions) > 0 {
		t.Error("something was redacted without being asked for")
	}
	got, r = written(t, s, Options{Format: Text, Hide: []string{"ACME-corp"}})
	if !strings.Contains(got, awsKey) || strings.Contains(got, "acme-corp") || len(r.Redactions) != 1 {
		t.Error("--hide hides more or less than its text")
	}
}

// TestHTML: every block occurs once, under the id of its entry, and nothing from the session is HTML.
func TestHTML(t *testing.T) {
	t.Parallel()
	s := fixture(t)
	got, _ := written(t, s, Options{Format: HTML, Redact: true, AllBranches: true})
	for _, id := range []string{"p1", "a1", "a3", "r1b", "a4", "p2", "a5", "p3"} {
		if n := strings.Count(got, ` id="`+id+`"`); n != 1 {
			t.Errorf("%s is there %d times", id, n)
		}
	}
	for _, want := range []string{
		"another result, of a run that failed", "Done on the first branch.", "default-src &#39;none&#39;", "data:image/png;base64,iVBORw0KGgo=", "branch 2 of 2",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing", want)
		}
	}
	for _, bad := range []string{"<script>alert", "evil.invalid/x.png\">", "\x1b", `src="http`} {
		if strings.Contains(got, bad) {
			t.Errorf("it has %q", bad)
		}
	}
	leaf := session.EntryID("a4")
	got, _ = written(t, s, Options{Format: HTML, Redact: true, Leaf: &leaf})
	if strings.Contains(got, "Done on the first branch.") || strings.Contains(got, "branch 1 of") || !strings.Contains(got, "It failed on the second branch.") {
		t.Error("the path to a leaf has something of other branches")
	}
}

// TestFile: the file is whole and readable only by its owner, and replaces an existing one only on request.
func TestFile(t *testing.T) {
	t.Parallel()
	s, path := fixture(t), filepath.Join(t.TempDir(), "new", "x.md")
	r, err := File(t.Context(), path, s, Options{Format: Markdown}, false)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() != r.Size || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Fatal(info, err)
	}
	if _, err := File(t.Context(), path, s, Options{Format: JSON}, false); !errors.Is(err, ErrExists) {
		t.Error(err)
	}
	if _, err := File(t.Context(), path, s, Options{Format: "pdf"}, true); !errors.Is(err, ErrFormat) {
		t.Error(err)
	}
	if now, err := os.ReadFile(path); err != nil || int64(len(now)) != r.Size {
		t.Error("a failed export changed the file", err)
	}
	if _, err := File(t.Context(), path, s, Options{Format: JSON}, true); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Error(left, err)
	}
}

// TestNoSpace: the error of the disk is returned, and nothing waits forever.
func TestNoSpace(t *testing.T) {
	t.Parallel()
	full := errors.New("no space")
	if _, err := Write(t.Context(), failing{full}, fixture(t), Options{Format: HTML}); !errors.Is(err, full) {
		t.Error(err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

var _ io.Writer = failing{}

// TestKey: file names are safe and distinct, even if case is ignored.
func TestKey(t *testing.T) {
	t.Parallel()
	taken, got := map[string]bool{}, []string{}
	for _, id := range []session.ID{"a", "A", "../../x", "", "a", "CON", "lpt1", "com"} {
		got = append(got, key(id, taken))
	}
	if diff := difftest.Diff([]string{"a", "A-2", "------x", "session", "a-3", "session-CON", "session-lpt1", "com"}, got); diff != "" {
		t.Error(diff)
	}
	if slices.Contains(got, "..") {
		t.Error(got)
	}
}

// TestShort: a line that ends in the middle of a secret does not show its beginning.
func TestShort(t *testing.T) {
	t.Parallel()
	s := newScrubber(true, nil)
	s.known[awsKey] = "aws access key"
	if got := s.short("deploy with " + awsKey[:12] + "…"); got != "deploy with [redacted: aws access key]…" {
		t.Error(got)
	}
	if got := s.short("all is fine…"); got != "all is fine…" {
		t.Error(got)
	}
}

// TestSubAgent: the conversation of a sub-agent in the same log is exported after the others, once.
func TestSubAgent(t *testing.T) {
	t.Parallel()
	const head = `"sessionId":"00000000-0000-4000-8000-000000000001","cwd":"/w","version":"2.0.0","userType":"external","timestamp":"2026-03-02T14:00:00.000Z",`
	lines := []string{
		`{"type":"user","uuid":"u1","parentUuid":null,` + head + `"isSidechain":false,"message":{"role":"user","content":"How many?"}}`,
		`{"type":"assistant","uuid":"u2","parentUuid":"u1",` + head + `"isSidechain":false,"message":{"id":"m1","role":"assistant","model":"m","type":"message","content":[{"type":"tool_use","id":"t1","name":"Task","input":{"description":"Counting","prompt":"Count the files"}}]}}`,
		`{"type":"user","uuid":"u3","parentUuid":null,` + head + `"isSidechain":true,"message":{"role":"user","content":"Count the files"}}`,
		`{"type":"assistant","uuid":"u4","parentUuid":"u3",` + head + `"isSidechain":true,"message":{"id":"m2","role":"assistant","model":"m","type":"message","content":[{"type":"text","text":"Nine, says the sub-agent."}]}}`,
		`{"type":"user","uuid":"u5","parentUuid":"u2",` + head + `"isSidechain":false,"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"nine"}]}}`,
		`{"type":"assistant","uuid":"u6","parentUuid":"u5",` + head + `"isSidechain":false,"message":{"id":"m3","role":"assistant","model":"m","type":"message","content":[{"type":"text","text":"There are nine."}]}}`,
	}
	path := filepath.Join(t.TempDir(), "00000000-0000-4000-8000-000000000001.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := world.New(t).View(path, store.OpenOptions{})
	for format, heading := range map[Format]string{Markdown: "*sub-agent, after u2*", HTML: "sub-agent: <b>Counting</b>"} {
		got, _ := written(t, s, Options{Format: format, Redact: true})
		if strings.Count(got, "Nine, says the sub-agent.") != 1 || strings.Count(got, "There are nine.") != 1 || !strings.Contains(got, heading) {
			t.Errorf("%s:\n%s; want strings.Count(got, \"Nine, says the sub-agent.\") == 1, strings.Count(got, \"There are nine.\") == 1, strings.Contains(got, heading)", format, got[strings.Index(got, "</script>")+1:])
		}
	}
}

// TestBridged: Claude Code continues the path above a line without a parent with another line, which is in another stretch. Each is
// exported once.
func TestBridged(t *testing.T) {
	t.Parallel()
	const n = 30
	var lines strings.Builder
	for i := range n {
		fmt.Fprintf(&lines, `{"type":"user","uuid":"u%d","parentUuid":"gone","sessionId":"00000000-0000-4000-8000-000000000001","cwd":"/w","version":"2.0.0",`+
			`"timestamp":"2026-03-02T14:00:0%d.000Z","isSidechain":false,"message":{"role":"user","content":"Water plant %d."}}`+"\n", i, i%5, i)
	}
	path := filepath.Join(t.TempDir(), "00000000-0000-4000-8000-000000000001.jsonl")
	if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	s := world.New(t).View(path, store.OpenOptions{})
	for _, format := range []Format{HTML, Markdown, Text} {
		got, _ := written(t, s, Options{Format: format, AllBranches: true})
		shown := 0
		for i := range n {
			if !strings.Contains(got, fmt.Sprintf("Water plant %d.", i)) {
				t.Errorf("%s: message %d is missing", format, i)
			}
			shown += strings.Count(got, fmt.Sprintf(`<article class="msg user" id="u%d"`, i)) + strings.Count(got, fmt.Sprintf("\nWater plant %d.", i))
		}
		if shown > 2*n { // once on the path to the leaf, and once in its own stretch
			t.Errorf("%s: %d messages are shown %d times", format, n, shown)
		}
	}
}

// TestRepeatedID: an entry whose id another one has is exported where it is, and not what the other one follows.
func TestRepeatedID(t *testing.T) {
	t.Parallel()
	const n = 30
	var lines []string
	parent := ""
	for i := range n {
		id := fmt.Sprint("u", i)
		lines = append(lines, strings.Replace(world.Said(id, parent, "Ask."), `"parentId":""`, `"parentId":null`, 1), world.Said("same", id, fmt.Sprintf("Answer %d.", i)))
		parent = id
	}
	path := filepath.Join(t.TempDir(), "session.jsonl")
	if err := os.WriteFile(path, []byte(world.Log("01a1df83-cfc0-7e99-b962-e6f28af3f987", "/w", lines...)), 0o600); err != nil {
		t.Fatal(err)
	}
	s := world.New(t).View(path, store.OpenOptions{})
	for _, format := range []Format{HTML, Markdown, Text} {
		got, _ := written(t, s, Options{Format: format, AllBranches: true})
		for i := range n {
			if !strings.Contains(got, fmt.Sprintf("Answer %d.", i)) {
				t.Errorf("%s: answer %d is missing", format, i)
			}
		}
		if k := strings.Count(got, "Ask."); k > 6*n { // also in the tree and in labels of forks
			t.Errorf("%s: %d prompts are there %d times", format, n, k)
		}
	}
}

// TestLinesOfARecord: Qwen Code joins the lines of a record. They are next to each other on each path through the record, and are exported with
// it, not once more for each of them.
func TestLinesOfARecord(t *testing.T) {
	t.Parallel()
	const n = 60
	var lines strings.Builder
	for i := range n {
		id, parent := fmt.Sprintf(`"u%d"`, i%2), fmt.Sprintf(`"u%d"`, (i+1)%2)
		switch {
		case i == 0:
			parent = "null"
		case i > n/2: // a branch after the lines of the second record
			id, parent = fmt.Sprintf(`"b%d"`, i), `"u1"`
		}
		fmt.Fprintf(&lines, `{"uuid":%s,"parentUuid":%s,"sessionId":"00000000-0000-4000-8000-000000000001","timestamp":"2026-05-01T10:00:00.000Z",`+
			`"type":"user","cwd":"/w","version":"0.1.0","message":{"role":"user","parts":[{"text":"Water plant %d."}]}}`+"\n", id, parent, i)
	}
	w := world.New(t)
	path := w.Put(".qwen/projects/-w/chats/00000000-0000-4000-8000-000000000001.jsonl", lines.String())
	s := w.View(path, store.OpenOptions{})
	for _, format := range []Format{Markdown, Text} {
		got, _ := written(t, s, Options{Format: format, AllBranches: true})
		shown := 0
		for i := range n {
			if !strings.Contains(got, fmt.Sprintf("Water plant %d.", i)) {
				t.Errorf("%s: message %d is missing", format, i)
			}
			shown += strings.Count(got, fmt.Sprintf("Water plant %d.", i))
		}
		if shown > 2*n {
			t.Errorf("%s: %d messages are shown %d times", format, n, shown)
		}
	}
}

// TestRecord: whatever is hidden, a record remains the same entry.
func TestRecord(t *testing.T) {
	t.Parallel()
	s := newScrubber(true, []string{"user", "content", `say "hi"`, "12", "null"})
	got := string(s.record(session.Entry{}, []byte(`{"type":"message","id":"user","n":12,"x":null,"message":{"role":"user","content":"the user has 12, say \"hi\" content"}}`)))
	h := redact.Mark(redact.HiddenText)
	want := `{"type":"message","id":"` + h + `","n":12,"x":null,"message":{"role":"user","content":"the ` + h + " has " + h + ", " + h + " " + h + `"}}`
	if diff := difftest.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
