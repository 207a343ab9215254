package claude_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/claude"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/session"
)

// TestFolder: the names of folders are those of the program.
func TestFolder(t *testing.T) {
	env := dialect.Env{Realpath: func(p string) (string, error) { return p, nil }}
	long := "/" + strings.Repeat("garden/", 40)
	for cwd, want := range map[string]string{
		"/home/user/My Project.x_y": "-home-user-My-Project-x-y",
		"/ünï-日本/a":                 "--n-----a",
		"/🌱":                        "---", // two UTF-16 units
		long:                        strings.ReplaceAll(long, "/", "-")[:200] + "-" + "hash",
	} {
		got := claude.Claude.Layout().Dir(env, cwd)
		if cwd == long {
			// The hash is in base 36 and has at most seven digits.
			if rest, ok := strings.CutPrefix(got, strings.TrimSuffix(want, "hash")); !ok || rest == "" || len(rest) > 7 {
				t.Errorf("%s is %s", cwd, got)
			}
			continue
		}
		if got != want {
			t.Errorf("%s is %s, not %s", cwd, got, want)
		}
	}
}

// The program does not load the part of a file over 5 MiB that stands before the last compaction. A branch from there continues from
// another entry, and a Problem says so.
func TestLarge(t *testing.T) {
	for _, size := range []int{4 << 20, 6 << 20} {
		var log bytes.Buffer
		line(&log, "user", "u1", "null", "", 0)
		line(&log, "assistant", "a1", "u1", "msg_1", 1000)
		fmt.Fprintf(&log, `{"type":"queue-operation","operation":"enqueue","content":"%s","sessionId":"5e55"}`+"\n", strings.Repeat("x", size))
		log.WriteString(`{"parentUuid":null,"type":"system","subtype":"compact_boundary","uuid":"b1","timestamp":"2026-05-01T10:00:02.000Z","sessionId":"5e55"}` + "\n")
		line(&log, "user", "s1", "b1", "", 3000)
		line(&log, "user", "u2", "a1", "", 4000)
		line(&log, "assistant", "a2", "u2", "msg_2", 5000)
		tree, err := dialecttest.Decode(claude.Claude, "large", log.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		c, err := session.BuildContext(tree, tree.LeafID(), session.ContextOptions{})
		if err != nil {
			t.Fatal(err)
		}
		path, err := tree.Path(tree.LeafID())
		if err != nil {
			t.Fatal(err)
		}
		problems := c.Problems()
		if large := size > 5<<20; large {
			if path.At(0).ID != "b1" || len(problems) != 1 || problems[0].Kind != session.ProblemUnseen || problems[0].Line != 6 {
				t.Errorf("%d bytes: the path begins with %s; %v", size, path.At(0).ID, problems)
			}
		} else if path.At(0).ID != "u1" || len(problems) > 0 {
			t.Errorf("%d bytes: the path begins with %s; %v", size, path.At(0).ID, problems)
		}
	}
}

// Parallel calls, their results and lines beside the tree are not branches; an abandoned prompt is one.
func TestBranches(t *testing.T) {
	for name, want := range map[string]int{"kinds": 1, "parallel": 1, "attachments": 1, "progress": 1, "sub-agent": 1, "sidechain-inside": 1, "rewind": 2, "result-regenerated": 2} {
		log, err := os.ReadFile("testdata/claude/" + name + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		tree, err := dialecttest.Decode(claude.Claude, name, log)
		if err != nil || tree.Tips() != want {
			t.Errorf("%s has %d branches, not %d (%v)", name, tree.Tips(), want, err)
		}
	}
}

// The answer that the program makes up for a prompt without one is marked, even if the output of a command follows the prompt.
func TestMade(t *testing.T) {
	var log bytes.Buffer
	line(&log, "user", "u1", "null", "", 0)
	log.WriteString(`{"parentUuid":"u1","type":"system","subtype":"local_command","content":"<local-command-stdout>3</local-command-stdout>","uuid":"s1","timestamp":"2026-05-01T10:00:02.000Z","sessionId":"5e55"}` + "\n")
	tree, err := dialecttest.Decode(claude.Claude, "log", log.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	c, err := session.BuildContext(tree, tree.LeafID(), session.ContextOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for m, err := range c.Messages() {
		if err != nil {
			t.Fatal(err)
		}
		if role := claude.Claude.Role(m.JSON); m.Made != (role == session.RoleAssistant) {
			t.Errorf("%s: Made is %v", m.JSON, m.Made)
		}
		all = append(all, string(m.JSON))
	}
	if len(all) != 3 {
		t.Errorf("%d messages, want 3: %q", len(all), all)
	}
}

// Two answers have a call with the same id, and there is a result for it beside the path. The program (tried with 2.1.325) takes it
// as a result of the last of these answers, and does not send it if it stands before that answer.
func TestStrayResult(t *testing.T) {
	var a bytes.Buffer
	line(&a, "user", "u0", "null", "", 0)
	line(&a, "assistant", "a1", "u0", "call x", 1)
	line(&a, "user", "stray", "u0", "result x", 2)
	line(&a, "user", "r1", "a1", "result x", 3)
	line(&a, "user", "u2", "r1", "", 4)
	line(&a, "assistant", "a3", "u2", "call x", 5)
	line(&a, "user", "r3", "a3", "result x", 6)
	line(&a, "assistant", "a4", "r3", "msg_4", 7)
	log := strings.ReplaceAll(a.String(), `"id":"msg_1","role":"assistant","content":[{"type":"tool_use","id":"x","name":"Dig","input":{}}]},"uuid":"a3"`,
		`"id":"msg_3","role":"assistant","content":[{"type":"tool_use","id":"x","name":"Dig","input":{}}]},"uuid":"a3"`)
	lines := strings.SplitAfter(log, "\n")
	lines[2] = strings.Replace(lines[2], `"out"`, `"stray"`, 1)
	all := strings.Join(lines, "")
	unanswered := strings.Replace(strings.Replace(all, lines[3], "", 1), `"parentUuid":"r1"`, `"parentUuid":"a1"`, 1)
	for name, test := range map[string]struct{ log, want string }{
		"answered":                {all, "out"},
		"the stray comes later":   {strings.Join(append(append(lines[:2:2], lines[3:6]...), lines[2], lines[6], lines[7]), ""), "out"},
		"the first has no result": {unanswered, "[Tool result missing due to internal error]"},
	} {
		for range 20 { // the result is the same each time
			tree, err := dialecttest.Decode(claude.Claude, "log", []byte(test.log))
			if err != nil {
				t.Fatal(err)
			}
			c, err := session.BuildContext(tree, tree.LeafID(), session.ContextOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var results []string
			for m, err := range c.Messages() {
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range claude.Claude.MessageParts(m.JSON) {
					if r, ok := p.(session.ToolResult); ok {
						results = append(results, dialect.TextOf(r.Parts))
					}
				}
			}
			if got := strings.Join(results, ", "); got != test.want {
				t.Fatalf("%s: the model sees %s, not %s", name, got, test.want)
			}
		}
	}
}

// What the provider encrypted of the thinking is in the neutral form what it is when it is composed.
func TestRedactedThinking(t *testing.T) {
	want := session.Thinking{Signature: "c2VjcmV0", Redacted: true}
	composed, err := claude.Claude.Compose(dialect.NewMessage{ID: "1", Role: session.RoleAssistant, Parts: []session.Part{want, session.Text{Text: "Dug."}}})
	if err != nil || len(composed) != 2 {
		t.Fatalf("%s, %v; want two messages", composed, err)
	}
	if parts := claude.Claude.MessageParts(composed[0]); len(parts) != 1 || parts[0] != session.Part(want) {
		t.Errorf("%s has the parts %#v, want %#v", composed[0], parts, want)
	}
}
