package session_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/dialect/gemini"
	"github.com/treeline-dev/treeline/dialect/pi"
	"github.com/treeline-dev/treeline/session"
)

// TestContext builds the contexts of testdata/context, one case for each sentence of the specification. A case is an
// archive in the txtar format: the sentence, the session, optionally a leaf ("none" for the place before the first
// entry) and options, and the context that each dialect makes of it. "go test -update" rewrites the contexts.
func TestContext(t *testing.T) {
	files, err := filepath.Glob("testdata/context/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c := parseArchive(string(data))
			seen := 0
			for _, d := range []*pi.Dialect{pi.Pi, pi.Omp, pi.OmpDoc, pi.Omp18} {
				want, ok := c.sections[d.Name()]
				if !ok {
					continue
				}
				seen++
				got := contextOf(t, d, c)
				if dialecttest.Updating() {
					c.sections[d.Name()] = got
				} else if diff := dialecttest.Diff(want, got); diff != "" {
					t.Errorf("%s\n%s reads it otherwise (-want +got):\n%s", c.comment, d.Name(), diff)
				}
			}
			if seen == 0 {
				t.Fatal("the case says for no dialect what the context is")
			}
			if dialecttest.Updating() {
				if err := os.WriteFile(file, []byte(c.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// checkSeen compares Path.Seen with a context: entries that give messages are seen, and entries that could but do not are hidden.
func checkSeen(t *testing.T, tree *session.Tree, leaf session.EntryID, ctx *session.Context) {
	t.Helper()
	path, err := tree.Path(leaf)
	if err != nil {
		return // the context fell back to another leaf
	}
	seen, err := path.Seen()
	if err != nil {
		t.Fatal(err)
	}
	used := map[int]bool{}
	for e := range ctx.Entries() {
		used[e.Index] = true
	}
	for _, i := range path.Indexes() {
		e := tree.At(int(i))
		if e.Kind == session.KindMessage && seen[i] != used[int(i)] || used[int(i)] && !seen[i] {
			t.Errorf("entry %s: seen %t, in the context %t", e.ID, seen[i], used[int(i)])
		}
	}
}

// contextOf returns a context as text, one message on each line.
func contextOf(t *testing.T, d *pi.Dialect, c *archive) string {
	t.Helper()
	tree, err := dialecttest.Decode(d, "session.jsonl", []byte(c.sections["session.jsonl"]))
	if err != nil {
		t.Fatal(err)
	}
	leaf := tree.LeafID()
	if named, ok := c.sections["leaf"]; ok {
		leaf = session.EntryID(strings.TrimSuffix(named, "\n"))
		if leaf == "none" {
			leaf = ""
		}
	}
	var opt session.ContextOptions
	for word := range strings.FieldsSeq(c.sections["options"]) {
		switch word {
		case "llm":
			opt.LLM = true
		case "drop-failed":
			opt.DropFailed = true
		case "strip-dangling":
			opt.StripDangling = true
		case "fall-back":
			opt.FallBack = true
		default:
			t.Fatalf("no option %q", word)
		}
	}
	ctx, err := session.BuildContext(tree, leaf, opt)
	if err != nil {
		return fmt.Sprintf("error: %v\n", err)
	}
	checkSeen(t, tree, leaf, ctx)
	var b bytes.Buffer
	b.WriteString(`{"messages":[`)
	first := true
	for m, err := range ctx.Messages() {
		if err != nil {
			t.Fatal(err)
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		b.WriteByte('\n')
		b.Write(m.JSON)
	}
	b.WriteString("\n],\n")
	b.Write(ctx.AppendState(nil))
	b.WriteString("}\n")
	return b.String()
}

// The default model is known where the path names its provider and the model.
func TestDefaultModel(t *testing.T) {
	const header = `{"type":"session","version":3,"id":"5e55","timestamp":"2026-01-02T00:00:00.000Z","cwd":"/garden"}` + "\n"
	for entry, want := range map[string]string{
		`{"type":"message","id":"a1","parentId":null,"message":{"role":"user","content":"one"}}`:                                         "false",
		`{"type":"message","id":"a1","parentId":null,"message":{"role":"assistant","content":[],"model":"opus"}}`:                        "false opus",
		`{"type":"message","id":"a1","parentId":null,"message":{"role":"assistant","content":[],"provider":"anthropic","model":"opus"}}`: "true opus",
		`{"type":"model_change","id":"a1","parentId":null,"provider":"anthropic","modelId":"opus"}`:                                      "true opus",
	} {
		tree, err := dialecttest.Decode(pi.Pi, "log", []byte(header+entry+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		c, err := session.BuildContext(tree, tree.LeafID(), session.ContextOptions{})
		if err != nil {
			t.Fatal(err)
		}
		m, ok := c.DefaultModel()
		if got := strings.TrimSpace(fmt.Sprint(ok, " ", m.Model)); got != want {
			t.Errorf("%s: got %s, want %s", entry, got, want)
		}
	}
}

// Of several results in one message only those without a call are removed.
func TestStripOneOfSeveralResults(t *testing.T) {
	const log = `{"sessionId":"5d9f7a10-3c1e-4b7a-9a52-6b1f0c2d4e88","projectHash":"b3ba","startTime":"2026-04-02T09:00:00.000Z","lastUpdated":"2026-04-02T09:00:00.000Z","kind":"main"}
{"id":"u1","timestamp":"2026-04-02T09:00:01.000Z","type":"user","content":[{"text":"How deep?"}]}
{"id":"g1","timestamp":"2026-04-02T09:00:02.000Z","type":"gemini","content":[{"functionCall":{"id":"c1","name":"measure","args":{}}}],"model":"gemini-2.5-pro"}
{"id":"u2","timestamp":"2026-04-02T09:00:03.000Z","type":"user","content":[{"functionResponse":{"id":"c1","name":"measure","response":{"output":"2 m"}}},{"functionResponse":{"id":"c9","name":"measure","response":{"output":"9 m"}}}]}
{"id":"g2","timestamp":"2026-04-02T09:00:04.000Z","type":"gemini","content":"Two metres.","model":"gemini-2.5-pro"}
`
	tree, err := dialecttest.Decode(gemini.Gemini, "log", []byte(log))
	if err != nil {
		t.Fatal(err)
	}
	c, err := session.BuildContext(tree, tree.LeafID(), session.ContextOptions{StripDangling: true})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for m, err := range c.Messages() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(m.JSON))
	}
	const want = `{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"measure","response":{"output":"2 m"}}}]}`
	if len(got) != 4 || got[2] != want {
		t.Errorf("got\n%s\nwant four messages, the third\n%s", strings.Join(got, "\n"), want)
	}
}

// TestContextOfMany builds a context of many entries that each change something. A quadratic algorithm would take minutes.
func TestContextOfMany(t *testing.T) {
	const n = 10_000
	var log bytes.Buffer
	log.WriteString(`{"type":"session","version":3,"id":"5e55"}` + "\n")
	parent := "null"
	for i := range n {
		fmt.Fprintf(&log, `{"type":"model_change","id":"m%d","parentId":%s,"model":"p/m","role":"role %d"}`+"\n", i, parent, i)
		fmt.Fprintf(&log, `{"type":"ttsr_injection","id":"t%d","parentId":"m%d","injectedRules":["rule %d"]}`+"\n", i, i, i)
		fmt.Fprintf(&log, `{"type":"context_edit","id":"e%d","parentId":"t%d","targetId":"m%d","replacement":null}`+"\n", i, i, i)
		parent = fmt.Sprintf(`"e%d"`, i)
	}
	for _, d := range []*pi.Dialect{pi.Pi, pi.Omp} {
		tree, err := dialecttest.Decode(d, "many", log.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		c, err := session.BuildContext(tree, tree.LeafID(), session.ContextOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(c.TTSRRules) != n || d == pi.Omp && (len(c.Models) != n || c.Models[7].Role != "role 7") {
			t.Errorf("%s: %d rules, %d models", d.Name(), len(c.TTSRRules), len(c.Models))
		}
	}
}

// archive is a txtar archive: a comment, and sections that begin with "-- name --".
type archive struct {
	comment  string
	names    []string
	sections map[string]string
}

func parseArchive(text string) *archive {
	a := &archive{sections: map[string]string{}}
	for line := range strings.Lines(text) {
		name, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "-- ")
		if name, end := strings.CutSuffix(name, " --"); ok && end {
			a.names = append(a.names, name)
			a.sections[name] = ""
			continue
		}
		if len(a.names) == 0 {
			a.comment += line
			continue
		}
		a.sections[a.names[len(a.names)-1]] += line
	}
	a.comment = strings.TrimSpace(a.comment)
	return a
}

func (a *archive) String() string {
	var b strings.Builder
	b.WriteString(a.comment + "\n\n")
	for _, name := range slices.Compact(a.names) {
		fmt.Fprintf(&b, "-- %s --\n%s", name, a.sections[name])
	}
	return b.String()
}
