package claude_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/treeline-dev/treeline/dialect/claude"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/session"
)

// TestCorpus compares what the model would see with what the program sent: NAME.sent.json beside NAME.jsonl.
func TestCorpus(t *testing.T) {
	dir := dialecttest.Corpus(t, "claude")
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		t.Run(name, func(t *testing.T) {
			log, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := os.ReadFile(filepath.Join(dir, name+".sent.json"))
			if err != nil {
				t.Fatal(err)
			}
			var sent struct {
				Messages []json.RawMessage
			}
			if err := json.Unmarshal(answer, &sent); err != nil {
				t.Fatal(err)
			}
			tree, err := dialecttest.Decode(claude.Claude, name, log)
			if err != nil {
				t.Fatal(err)
			}
			leaf, _ := tree.Leaf()
			c, err := session.BuildContext(tree, leaf.ID, session.ContextOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var got [][]byte
			for m, err := range c.Messages() {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, m.JSON)
			}
			var want [][]byte
			for _, m := range sent.Messages {
				want = append(want, m)
			}
			var lost []string
			for _, p := range c.Problems() {
				lost = append(lost, fmt.Sprintf("%d %s", p.Line, p.Kind))
			}
			if diff := cmp.Diff(losses[name], lost); diff != "" {
				t.Errorf("the problems are (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(project(want), project(got)); diff != "" {
				t.Errorf("leaf %s (-sent +context):\n%s", leaf.ID, diff)
			}
		})
	}
}

// losses are the cases in which the program does not show the model something that the log has, with the lines that say so.
// Lines that are no record, and repeated uuids, are problems of the log itself.
var losses = map[string][]string{
	"boundary-mid-of-turn":           {"5 unseen"},
	"bridge-days":                    {"3 unseen"},
	"bridge-file-or-time":            {"7 unseen"},
	"bridge-gap-1h":                  {"3 unseen"},
	"bridge-gap-1m":                  {"3 unseen"},
	"bridge-gap-6s":                  {"3 unseen"},
	"bridge-small-overlap":           {"3 unseen"},
	"bridge-tips":                    {"7 unseen"},
	"dangling-call":                  {"2 unseen"},
	"dangling-first-on-path":         {"2 unseen"},
	"dangling-mid-and-last-answered": {"2 unseen"},
	"dangling-off-path-first":        {"2 unseen"},
	"dangling-one-resolved-off":      {"2 unseen"},
	"dangling-parallel-mid":          {"3 unseen"},
	"double-call":                    {"4 unseen", "5 unseen"},
	"dup-later-time":                 {"3 unseen"},
	"dup-uuid-new-parent":            {"4 unseen"},
	"explicit-off-path-then-more":    {"8 unseen"},
	"glued":                          {"2 unseen"},
	"lp-first-line":                  {"6 unseen"},
	"lp-only-bridged":                {"7 unseen"},
	"lp-then-new-root":               {"8 unseen"},
	"lp-with-system-child":           {"9 unseen"},
	"missing-parent-ts":              {"5 unseen"},
	"regenerated-result":             {"5 unseen"},
	"timestamp-number":               {"2 refused"},
	"timestamp-only-user":            {"4 refused"},
}

// project reduces messages to what must agree: roles, texts, calls, results and images, without the new prompt and
// without reminders.
func project(messages [][]byte) (out []string) {
	for _, m := range messages {
		role := claude.Claude.Role(m)
		if role == session.RoleSystem {
			continue
		}
		var line bytes.Buffer
		for _, p := range claude.Claude.MessageParts(m) {
			say(&line, p)
		}
		if line.Len() > 0 {
			out = append(out, role.String()+line.String())
		}
	}
	return out
}

func say(w *bytes.Buffer, p session.Part) {
	switch p := p.(type) {
	case session.Text:
		if !strings.HasPrefix(p.Text, "<system-reminder>") && strings.TrimSpace(p.Text) != "NEXT PROMPT" {
			w.WriteString("\ntext " + p.Text)
		}
	case session.Thinking:
		w.WriteString("\nthinking " + p.Text)
	case session.ToolCall:
		var args bytes.Buffer
		_ = json.Compact(&args, p.Arguments)
		w.WriteString("\ncall " + p.ID + " " + p.Name + args.String())
	case session.ToolResult:
		w.WriteString("\nresult " + p.CallID)
		if p.IsError {
			w.WriteString(" error")
		}
		for _, inside := range p.Parts {
			if text, ok := inside.(session.Text); ok {
				said, _, _ := strings.Cut(text.Text, "\n\n<system-reminder>")
				if strings.HasPrefix(said, "[Tool call interrupted") {
					said = "[Tool call interrupted"
				}
				inside = session.Text{Text: said}
			}
			say(w, inside)
		}
	case session.Image:
		w.WriteString("\nimage " + p.MIME + " " + p.Data[:min(len(p.Data), 20)])
	case session.OpaquePart:
		w.WriteString("\nopaque " + p.Type)
	}
}
