package operator_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/dialect/operator"
	"github.com/treeline-dev/treeline/session"
)

// asProgram returns a log as the program sees it, without the lines that contain a Unicode line break, which it loses.
func asProgram(log []byte) []byte {
	var seen []byte
	for line := range bytes.SplitAfterSeq(log, []byte{'\n'}) {
		if !bytes.ContainsAny(line, "\u0085\u2028\u2029") {
			seen = append(seen, line...)
		}
	}
	return seen
}

// TestCorpus compares sessions/NAME.jsonl with what the program makes of it: expected/NAME.jsonl.{context,tree}.json.
func TestCorpus(t *testing.T) {
	dir := dialecttest.Corpus(t, "operator")
	files, err := filepath.Glob(filepath.Join(dir, "sessions", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			log := readFile(t, file)
			whole := decode(t, operator.Operator, log)
			if p := whole.Problems(); len(p) > 0 {
				t.Errorf("problems: %v", p)
			}
			for e := range whole.Entries() {
				record, err := operator.Operator.Encode(e)
				if err != nil || !bytes.Equal(record, log[e.Span.Offset:e.Span.End()]) {
					t.Errorf("entry %s is written as %s (%v)", e.ID, record, err)
				}
			}
			seen := asProgram(log)
			if lost := bytes.Count(log, []byte{'\n'}) - bytes.Count(seen, []byte{'\n'}); whole.Len() < lost {
				t.Errorf("%d entries, and %d that the program loses", whole.Len(), lost)
			}
			tree := decode(t, operator.Operator, seen)
			compareContext(t, tree, readFile(t, filepath.Join(dir, "expected", name+".context.json")))
			compareTree(t, tree, readFile(t, filepath.Join(dir, "expected", name+".tree.json")))
		})
	}
}

// answer is what the program reports about a session.
type answer struct {
	SessionID  string            `json:"session_id"`
	Leaf       string            `json:"leaf_id"`
	Name       string            `json:"name"`
	Labels     map[string]string `json:"labels"`
	Branch     []string          `json:"branch"`
	Entries    int               `json:"entries"`
	Thinking   string            `json:"thinking_level"`
	ModelID    string            `json:"model_id"`
	ProviderID string            `json:"provider_id"`
	Messages   []any             `json:"messages"`
}

func compareContext(t *testing.T, tree *session.Tree, expected []byte) {
	t.Helper()
	var want answer
	if err := json.Unmarshal(expected, &want); err != nil {
		t.Fatal(err)
	}
	for i := range want.Messages {
		want.Messages[i] = plain(want.Messages[i])
	}
	got := answer{SessionID: string(tree.Header().ID), Leaf: string(tree.LeafID()), Entries: tree.Len(), Labels: map[string]string{}}
	path, err := tree.Path(tree.LeafID())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range path.Entries() {
		got.Branch = append(got.Branch, string(e.ID))
		if body, err := e.Body(); err != nil {
			t.Fatal(err)
		} else if info, ok := body.(session.SessionInfo); ok {
			got.Name = info.Name
		}
	}
	for e := range tree.Entries() {
		if label := tree.Label(e.ID); label != "" {
			got.Labels[string(e.ID)] = label
		}
	}
	c, err := session.BuildContext(tree, tree.LeafID(), session.ContextOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got.Thinking = c.ThinkingLevel
	if len(c.Models) > 0 {
		got.ModelID, got.ProviderID = c.Models[0].Model, c.Models[0].Provider
	}
	for m, err := range c.Messages() {
		if err != nil {
			t.Fatal(err)
		}
		got.Messages = append(got.Messages, plain(value(t, m.JSON)))
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the context is %+v, not %+v", got, want)
	}
}

// node is an entry of the program's tree.
type node struct {
	Entry    any     `json:"entry"`
	Children []node  `json:"children"`
	Label    *string `json:"label"`
}

func compareTree(t *testing.T, tree *session.Tree, expected []byte) {
	t.Helper()
	var want []node
	if err := json.Unmarshal(expected, &want); err != nil {
		t.Fatal(err)
	}
	compareNodes(t, tree, tree.Roots(), want)
}

func compareNodes(t *testing.T, tree *session.Tree, got []session.Entry, want []node) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d entries beside each other, not %d: %v", len(got), len(want), got)
	}
	for i, e := range got {
		raw, err := e.Raw()
		if err != nil {
			t.Fatal(err)
		}
		if have, wanted := plain(value(t, raw)), plain(want[i].Entry); !reflect.DeepEqual(have, wanted) {
			t.Errorf("entry %s is %v, not %v", e.ID, have, wanted)
		}
		label := ""
		if want[i].Label != nil {
			label = *want[i].Label
		}
		if tree.Label(e.ID) != label {
			t.Errorf("entry %s has the label %q, not %q", e.ID, tree.Label(e.ID), label)
		}
		compareNodes(t, tree, tree.Children(e.ID), want[i].Children)
	}
}

// plain removes what only the program's dump has, and members without a value.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, member := range v {
			if key == "__class__" || member == nil {
				delete(v, key)
				continue
			}
			v[key] = plain(member)
		}
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	}
	return v
}

func value(t *testing.T, raw []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func readFile(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func decode(t *testing.T, d *operator.Dialect, log []byte) *session.Tree {
	t.Helper()
	tree, err := dialecttest.Decode(d, "test.jsonl", log)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func fixture(t *testing.T, name string) []byte {
	t.Helper()
	return readFile(t, filepath.Join("testdata", filepath.FromSlash(name)+".jsonl"))
}

// messages returns the messages of a context, one per line.
func messages(t *testing.T, tree *session.Tree, leaf session.EntryID, opt session.ContextOptions) string {
	t.Helper()
	c, err := session.BuildContext(tree, leaf, opt)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for m, err := range c.Messages() {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(m.JSON))
	}
	return strings.Join(lines, "\n")
}
