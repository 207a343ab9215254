package claude_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/claude"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/session"
)

// line writes an entry with a time ms after that of the first.
func line(w *bytes.Buffer, kind string, id, parent, message string, ms int) {
	at := time.UnixMilli(1777629600000 + int64(ms)).UTC().Format("2006-01-02T15:04:05.000Z")
	if parent != "null" {
		parent = `"` + parent + `"`
	}
	content := `"Dig."`
	if kind == "assistant" {
		content = `[{"type":"text","text":"Dug."}]`
	}
	if call, ok := strings.CutPrefix(message, "call "); ok {
		message, content = "msg_1", `[{"type":"tool_use","id":"`+call+`","name":"Dig","input":{}}]`
	}
	if call, ok := strings.CutPrefix(message, "result "); ok {
		content = `[{"type":"tool_result","tool_use_id":"` + call + `","content":"out"}]`
	}
	fmt.Fprintf(w, `{"parentUuid":%s,"isSidechain":false,"type":"%s","message":{"id":"%s","role":"%s","content":%s},"uuid":"%s","timestamp":"%s","sessionId":"5e55"}`+"\n",
		parent, kind, message, kind, content, id, at)
}

// attachment writes an attachment with a text of that length.
func attachment(w *bytes.Buffer, id, parent string, length, ms int) {
	at := time.UnixMilli(1777629600000 + int64(ms)).UTC().Format("2006-01-02T15:04:05.000Z")
	fmt.Fprintf(w, `{"parentUuid":"%s","isSidechain":false,"type":"attachment","attachment":{"type":"diagnostics"},"rendered":[{"content":"%s"}],"uuid":"%s","timestamp":"%s","sessionId":"5e55"}`+"\n",
		parent, strings.Repeat("x", length), id, at)
}

// TestLong reads logs of many entries whose shapes would take quadratic time if read naively.
func TestLong(t *testing.T) {
	n := soaktest.Part(10_000, 3_000)
	if os.Getenv("TREELINE_SOAK") != "" {
		n = 200_000
	}
	id := func(i int) string { return fmt.Sprintf("u%d", i) }
	for _, test := range []struct {
		name string
		add  func(w *bytes.Buffer, i int)
	}{
		{"chain", func(w *bytes.Buffer, i int) {
			parent := "null"
			if i > 0 {
				parent = id(i - 1)
			}
			line(w, [2]string{"user", "assistant"}[i%2], id(i), parent, "msg_"+id(i), i)
		}},
		{"all parents missing", func(w *bytes.Buffer, i int) { line(w, "user", id(i), "gone", "", i) }},
		{"all parents missing at one time", func(w *bytes.Buffer, i int) { line(w, "user", id(i), "gone", "", 7) }},
		{"one answer", func(w *bytes.Buffer, i int) {
			switch {
			case i == 0:
				line(w, "user", id(0), "null", "", 0)
			case i < n/2:
				line(w, "assistant", id(i), id(i-1), "call "+id(i), i)
			default:
				line(w, "user", id(i), id(i-n/2+1), "result "+id(i-n/2+1), i)
			}
		}},
		{"one parent", func(w *bytes.Buffer, i int) {
			if i == 0 {
				line(w, "user", id(0), "null", "", 0)
				return
			}
			line(w, "assistant", id(i), id(0), "msg_1", i)
		}},
		{"cycles", func(w *bytes.Buffer, i int) { line(w, "user", id(i), id(i^1), "", i) }},
		{"one uuid", func(w *bytes.Buffer, i int) { line(w, "user", "u0", "u0", "", i) }},
		{"progress", func(w *bytes.Buffer, i int) {
			if i%2 == 0 {
				line(w, "progress", id(i), id(max(i-2, 0)), "", i)
				return
			}
			line(w, "user", id(i), id(i-1), "", i)
		}},
		{"progress before a compaction", func(w *bytes.Buffer, i int) { // the lines are short so that the file is not large
			switch {
			case i == 0:
				fmt.Fprint(w, `{"type":"user","uuid":"p0","parentUuid":null,"message":{"role":"user","content":"Dig."}}`+"\n")
				line(w, "user", "kept", "null", "", 0)
			case i < n/2:
				for k := 4*i - 3; k <= 4*i; k++ {
					fmt.Fprintf(w, `{"type":"progress","uuid":"p%d","parentUuid":"p%d"}`+"\n", k, k-1)
				}
			case i == n/2:
				fmt.Fprint(w, `{"type":"system","subtype":"compact_boundary","parentUuid":null,"uuid":"b","timestamp":"2026-05-01T10:00:00.000Z","compactMetadata":{"preservedSegment":{"headUuid":"kept","anchorUuid":"b","tailUuid":"kept"}}}`+"\n")
			default:
				for k := range 4 {
					fmt.Fprintf(w, `{"type":"user","uuid":"%s-%d","parentUuid":"p%d","timestamp":"2026-05-01T10:00:01.000Z","message":{"role":"user","content":"Dig."}}`+"\n", id(i), k, 2*n-4)
				}
			}
		}},
		{"last-prompt lines", func(w *bytes.Buffer, i int) {
			if i%2 == 1 {
				fmt.Fprintf(w, `{"type":"last-prompt","leafUuid":"u0","sessionId":"5e55"}`+"\n")
				return
			}
			parent := "null"
			if i > 0 {
				parent = id(i - 2)
			}
			line(w, "user", id(i), parent, "", i)
		}},
		{"compactions", func(w *bytes.Buffer, i int) {
			if i%2 == 1 {
				fmt.Fprintf(w, `{"type":"system","subtype":"compact_boundary","parentUuid":null,"uuid":"%s","timestamp":"2026-05-01T10:00:00.000Z","compactMetadata":{"preservedSegment":{"headUuid":"u0","anchorUuid":"%s","tailUuid":"%s"}}}`+"\n", id(i), id(i), id(i-1))
				return
			}
			line(w, "user", id(i), id(max(i-2, 0)), "", i)
		}},
		{"attachments after a result", func(w *bytes.Buffer, i int) {
			switch i {
			case 0:
				line(w, "user", id(0), "null", "", 0)
			case 1:
				line(w, "assistant", id(1), id(0), "call c", 1)
			case 2:
				line(w, "user", id(2), id(1), "result c", 2)
			default:
				attachment(w, id(i), id(i-1), 500, i)
			}
		}},
		{"attachments after a prompt", func(w *bytes.Buffer, i int) {
			if i == 0 {
				line(w, "user", id(0), "null", "", 0)
				return
			}
			attachment(w, id(i), id(i-1), 10, i)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var log bytes.Buffer
			for i := range n {
				test.add(&log, i)
			}
			begin := time.Now()
			tree, err := dialecttest.Decode(claude.Claude, "long", log.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			c, err := session.BuildContext(tree, tree.LeafID(), session.ContextOptions{})
			if err != nil {
				t.Fatal(err)
			}
			messages := 0
			for _, err := range c.Messages() {
				if err != nil {
					t.Fatal(err)
				}
				messages++
			}
			c.Problems()
			tree.Tips()
			if took := time.Since(begin); took > 60*time.Second || messages == 0 {
				t.Errorf("%d messages in %v", messages, took)
			}
		})
	}
}

// An answer with very many calls is spread over as many lines. Quadratic code would take minutes.
func TestSpreadMany(t *testing.T) {
	const n = 50_000
	call := func(i int) string {
		return fmt.Sprintf(`{"type":"tool_use","id":"toolu_%d","name":"Dig","input":{}}`, i)
	}
	calls := make([]string, n)
	for i := range calls {
		calls[i] = call(i)
	}
	m := session.Message{JSON: []byte(`{"role":"assistant","content":[` + strings.Join(calls, ",") + `],"model":"m"}`), Role: session.RoleAssistant}
	ids := 0
	list, err := claude.Claude.Spread(dialect.NewEntry{ID: "last", Body: m}, func() (session.EntryID, error) {
		ids++
		return session.EntryID(fmt.Sprint(ids)), nil
	})
	if err != nil || len(list) != n {
		t.Fatalf("%d entries, %v", len(list), err)
	}
	for _, i := range []int{0, n / 2, n - 1} {
		got := string(list[i].Body.(session.Message).JSON)
		if !strings.Contains(got, `"content":[`+call(i)+`],"model":"m"`) {
			t.Errorf("entry %d is %s", i, got)
		}
	}
}

// TestNestedResults: results inside results are not read level by level. Quadratic code would take an hour.
func TestNestedResults(t *testing.T) {
	t.Parallel()
	const n = 500_000
	m := `{"role":"user","content":` + strings.Repeat(`[{"type":"tool_result","content":`, n) + `"x"` + strings.Repeat(`}]`, n) + `}`
	parts := claude.Claude.MessageParts([]byte(m))
	if len(parts) != 1 {
		t.Fatalf("%d parts, want one", len(parts))
	}
	r, _ := parts[0].(session.ToolResult)
	if len(r.Parts) != 1 {
		t.Fatalf("the result has %d parts, want one", len(r.Parts))
	}
	if inner, ok := r.Parts[0].(session.OpaquePart); !ok || inner.Type != "tool_result" {
		t.Errorf("%T is in the result, want an opaque part", r.Parts[0])
	}
}

// TestManyCalls: the results of very many calls are paired in linear time, including results before their calls. Quadratic code would take
// minutes.
func TestManyCalls(t *testing.T) {
	t.Parallel()
	n := soaktest.Part(300_000, 40_000)
	var calls, results strings.Builder
	for i := range n {
		if i > 0 {
			calls.WriteByte(',')
			results.WriteByte(',')
		}
		fmt.Fprintf(&calls, `{"type":"tool_use","id":"toolu_%d","name":"dig","input":{}}`, i)
		fmt.Fprintf(&results, `{"type":"tool_result","tool_use_id":"toolu_%d","content":"dug"}`, n-1-i)
	}
	line := func(id, parent, typ, message string) string {
		return fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,"cwd":"/w","sessionId":"s","version":"2.1.0","type":"%s","uuid":"%s","timestamp":"2026-03-01T08:00:0%s.000Z","message":%s}`+"\n",
			parent, typ, id, id, message)
	}
	answer := `{"role":"assistant","id":"m","model":"x","content":[` + calls.String() + `]}`
	said := `{"role":"user","content":[` + results.String() + `]}`
	for name, log := range map[string]string{
		"after":  line("1", "null", "user", `{"role":"user","content":"hi"}`) + line("2", `"1"`, "assistant", answer) + line("3", `"2"`, "user", said),
		"before": line("1", "null", "user", `{"role":"user","content":"hi"}`) + line("2", `"1"`, "user", said) + line("3", `"2"`, "assistant", answer),
	} {
		tree, err := dialecttest.Decode(claude.Claude, "s", []byte(log))
		if err != nil {
			t.Fatal(err)
		}
		c, err := session.BuildContext(tree, tree.LeafID(), session.ContextOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for m, err := range c.Messages() {
			if err != nil {
				t.Fatal(err)
			}
			got += strings.Count(string(m.JSON), `"dug"`)
		}
		if got != n {
			t.Errorf("%s their calls: %d results, want %d", name, got, n)
		}
	}
}

// TestOpenCalls: an answer with very many calls without results is read once. Quadratic code would take minutes.
func TestOpenCalls(t *testing.T) {
	t.Parallel()
	n := soaktest.Part(200_000, 50_000)
	var one, many bytes.Buffer // one call per line, and many calls in one line
	line(&one, "user", "u0", "null", "", 0)
	many.Write(one.Bytes())
	for i := range n {
		line(&one, "assistant", fmt.Sprint("u", i+1), fmt.Sprint("u", i), fmt.Sprint("call ", i), i+1)
	}
	line(&one, "user", "last", fmt.Sprint("u", n), "", n+1)
	call := make([]string, n)
	for i := range call {
		call[i] = fmt.Sprintf(`{"type":"tool_use","id":"%d","name":"Dig","input":{}}`, i)
	}
	fmt.Fprintf(&many, `{"parentUuid":"u0","type":"assistant","message":{"role":"assistant","content":[%s]},"uuid":"a","timestamp":"2026-05-01T10:00:01.000Z"}`+"\n", strings.Join(call, ","))
	parent := "a"
	for i := range n {
		id := fmt.Sprint("n", i)
		attachment(&many, id, parent, 0, i)
		parent = id
	}
	line(&many, "user", "last", parent, "", n+1)
	for name, log := range map[string]*bytes.Buffer{"lines": &one, "one line": &many} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree, err := dialecttest.Decode(claude.Claude, "open", log.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			if p := claude.Claude.Check(tree, dialect.LogInfo{}); len(p) != n {
				t.Errorf("%d problems, want %d", len(p), n)
			}
		})
	}
}
