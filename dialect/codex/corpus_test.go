package codex_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/codex"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/session"
)

type whole []byte

func (w whole) Bytes(s session.Span) ([]byte, error) { return bytes.Clone(w[s.Offset:s.End()]), nil }

// losses are the Problems of the cases in which the program loses something: the kind and the line. The others have none.
var losses = map[string]string{
	"compacted-metadata-mismatch": "unseen 8",
	"events-only":                 "unseen 2, unseen 3",
	"glued":                       "glued 3, unseen 3",
	"meta-not-first":              "no-header",
	"meta-second":                 "second-header 8",
	"meta-without-cli-version":    "refused 1",
	"meta-without-id":             "no-header",
	"no-line-timestamp":           "refused 1",
	"output-object":               "unseen 6",
	"paginated-no-ordinals":       "refused 1",
	"paginated-swapped":           "unseen 4, unseen 6",
	"system-role":                 "unseen 3",
	"torn-tail":                   "torn 11",
	"unknown-content-part":        "unseen 3",
	"unknown-item-type":           "unseen 8",
}

// TestCorpus compares what the model would see with what the program sent: NAME.sent.json beside NAME.jsonl. NAME.d has the
// rollouts that it goes on from.
func TestCorpus(t *testing.T) {
	dir := dialecttest.Corpus(t, "codex")
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
			var sent struct{ Input []json.RawMessage }
			if err := json.Unmarshal(answer, &sent); err != nil {
				t.Fatal(err)
			}
			b := session.NewBuilder(name, whole(log))
			dec := dialect.Supplied(codex.Codex.NewDecoder(b), func(n dialect.Need) ([]byte, error) {
				id := strings.TrimPrefix(filepath.Base(n.Name), "rollout-*")
				found, _ := filepath.Glob(filepath.Join(dir, name+".d", "*"+id))
				if len(found) == 0 {
					return nil, errors.New("not found")
				}
				return os.ReadFile(found[0])
			})
			if err := dialect.DecodeLog(dec, log); err != nil {
				var p *session.Problem
				if sent.Input != nil || !errors.As(err, &p) || losses[name] != string(p.Kind) {
					t.Errorf("not read: %v; want %q", err, losses[name])
				}
				return
			}
			tree := b.Finish()
			c, err := session.BuildContext(tree, tree.LeafID(), session.ContextOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var lost []string
			for _, p := range append(tree.Problems(), c.Problems()...) {
				lost = append(lost, fmt.Sprintf("%s %d", p.Kind, p.Line))
			}
			if diff := cmp.Diff(losses[name], strings.Join(lost, ", ")); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			// Whether the provider that a header names is the configured one, the log does not say.
			if name == "meta-other-provider" {
				return
			}
			var got, want [][]byte
			for m, err := range c.Messages() {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, m.JSON)
			}
			for _, m := range sent.Input {
				want = append(want, m)
			}
			if diff := cmp.Diff(project(want), project(got)); diff != "" {
				t.Errorf("(-sent +context):\n%s", diff)
			}
		})
	}
}

// project reduces items to what must agree, without the new prompt and what the program says at its start.
func project(items [][]byte) (out []string) {
	for _, m := range items {
		role := codex.Codex.Role(m)
		if role == session.RoleSystem {
			continue
		}
		var line strings.Builder
		for _, p := range codex.Codex.MessageParts(m) {
			switch p := p.(type) {
			case session.Text:
				if strings.HasPrefix(p.Text, "<environment_context>") || strings.HasPrefix(p.Text, "# AGENTS.md") || p.Text == "NEXT PROMPT" {
					continue
				}
				line.WriteString("\ntext " + p.Text)
			case session.ToolCall:
				line.WriteString("\ncall " + p.ID + " " + p.Name + " " + string(p.Arguments))
			case session.ToolResult:
				line.WriteString("\nresult " + p.CallID + " " + dialect.TextOf(p.Parts))
			case session.OpaquePart:
				line.WriteString("\nopaque " + p.Type)
			}
		}
		if line.Len() > 0 {
			out = append(out, role.String()+line.String())
		}
	}
	return out
}
