package operator_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/operator"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// short returns the role and the first text of each message of a context.
func short(t *testing.T, tree *session.Tree, leaf session.EntryID, opt session.ContextOptions) string {
	t.Helper()
	var out []string
	for m := range strings.SplitSeq(messages(t, tree, leaf, opt), "\n") {
		if m == "" {
			continue
		}
		text := rawjson.Str([]byte(m), "summary")
		for b := range rawjson.Elements(rawjson.Get([]byte(m), "contents")) {
			for _, s := range []string{rawjson.Str(b, "content"), rawjson.Str(b, "id")} {
				if text == "" {
					text = s
				}
			}
		}
		out = append(out, rawjson.Str([]byte(m), "role")+": "+text)
	}
	return strings.Join(out, " | ")
}

func TestContexts(t *testing.T) {
	const q, a, w = "user: How deep is the pond?", "assistant: Two metres.", "user: And the well?"
	for _, c := range []struct {
		name, leaf string
		want       string
	}{
		{"operator/branches", "", q + " | " + a + " | " + w + " | assistant: Nine."},
		{"operator/branches", "aaaa0009", q + " | " + a + " | branch_summary: They spoke of carp. | user: Frogs?"},
		{"operator/leaf-missing", "", q + " | " + a},
		{"operator/leaf-to-nothing", "", ""},
		{"operator/leaf-null", "", "user: A new root."},
		{"operator/leaf-to-leaf", "", q + " | " + a + " | " + w + " | assistant: Below a leaf."},
		{"operator/leaf-last-to-leaf", "", q + " | " + a + " | " + w},
		// An earlier summary does not come back, even if it is the first entry that is kept.
		{"operator/two-compactions", "", "compaction_summary: Two. | user: On. | user: And on."},
		{"operator/compaction-keeps-nothing", "", "compaction_summary: All. | user: post"},
		{"operator/kinds", "", "compaction_summary: They measured the pond. | assistant: Two metres. | custom: a heron came by | " + w + " | assistant: Dry."},
		{"operator/message-not-object", "", q},
		{"operator/line-separators", "", "user: a\u2028b\u2029c\u0085d | assistant: fine"},
		{"operator-doc/sample", "", q + " | " + a},
		{"operator-doc/sample", "a4", "compaction_summary: They measured. | " + a + " | " + w},
		{"operator-doc/kinds", "", "user: q | branch_summary: They went elsewhere. | custom: shown"},
	} {
		tree := decode(t, operator.Operator, fixture(t, c.name))
		leaf := session.EntryID(c.leaf)
		if leaf == "" {
			leaf = tree.LeafID()
		}
		if got := short(t, tree, leaf, session.ContextOptions{}); got != c.want {
			t.Errorf("%s at %q: %s, not %s", c.name, leaf, got, c.want)
		}
	}
}

// TestMadeMessages: what the program makes of summaries and of extensions' messages.
func TestMadeMessages(t *testing.T) {
	tree := decode(t, operator.Operator, fixture(t, "operator/kinds"))
	got := strings.Split(messages(t, tree, tree.LeafID(), session.ContextOptions{}), "\n")
	if want := `{"role":"compaction_summary","summary":"They measured the pond.","tokens_before":1234,"timestamp":1755000013.251625}`; got[0] != want {
		t.Errorf("%s, not %s", got[0], want)
	}
	if want := `{"role":"custom","custom_type":"note","timestamp":1755000011.251375,"contents":[{"type":"text","content":"a heron came by"}],"details":{"k":1}}`; got[2] != want {
		t.Errorf("%s, not %s", got[2], want)
	}
	raw, _ := tree.At(8).Raw()
	if m := rawjson.Get(raw, "message"); string(m) != got[1] {
		t.Errorf("%s, not %s", got[1], m)
	}
	tree = decode(t, operator.Operator, fixture(t, "operator-doc/sample"))
	first, _, _ := strings.Cut(messages(t, tree, "a4", session.ContextOptions{}), "\n")
	if want := `{"role":"compaction_summary","summary":"They measured.","tokens_before":0}`; first != want {
		t.Errorf("without time and count: %s, not %s", first, want)
	}
	llm := strings.Split(messages(t, tree, "a4", session.ContextOptions{LLM: true}), "\n")
	if !strings.Contains(llm[0], `<summary>\nThey measured.\n</summary>"}]`) || rawjson.Str([]byte(llm[0]), "role") != "user" {
		t.Errorf("for the provider it is %s", llm[0])
	}
}

func TestState(t *testing.T) {
	tree := decode(t, operator.Operator, fixture(t, "operator/kinds"))
	c, err := session.BuildContext(tree, tree.LeafID(), session.ContextOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := `"thinkingLevel":"high","models":{"default":"marsh/heron-2"},"injectedTtsrRules":[],"mode":"none",` +
		`"model":{"model_id":"heron-2","provider_id":"marsh"}`
	if got := string(c.AppendState(nil)); got != want {
		t.Errorf("%s, not %s", got, want)
	}
	// Only the path counts.
	if c, err = session.BuildContext(tree, "k0000002", session.ContextOptions{}); err != nil || c.ThinkingLevel != "off" || len(c.Models) != 0 {
		t.Errorf(`%+v, %v; want no error, c.ThinkingLevel == "off", len(c.Models) == 0`, c, err)
	}
}

// TestSeveralResults: a message with the results of several calls keeps the results whose calls are there.
func TestSeveralResults(t *testing.T) {
	tree := decode(t, operator.Operator, fixture(t, "operator/dangling-calls"))
	got := messages(t, tree, tree.LeafID(), session.ContextOptions{DropFailed: true, StripDangling: true})
	lines := strings.Split(got, "\n")
	if len(lines) != 3 {
		t.Fatalf("%d messages: %s", len(lines), got)
	}
	for _, absent := range []string{"c2", "c3", "c9", "nobody asked", "late", "signature"} {
		if strings.Contains(got, absent) {
			t.Errorf("%s is left in %s", absent, got)
		}
	}
	for _, there := range []string{`"id":"c1","name"`, `"id":"c1","content":"one"`, "hm"} {
		if !strings.Contains(got, there) {
			t.Errorf("%s is gone from %s", there, got)
		}
	}
}

func TestParts(t *testing.T) {
	tree := decode(t, operator.Operator, fixture(t, "operator/kinds"))
	parts := func(id session.EntryID) []session.Part {
		e, err := tree.Get(id)
		if err != nil {
			t.Fatal(err)
		}
		p, err := e.Parts()
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for id, want := range map[session.EntryID][]session.Part{
		"k0000006": {
			session.Text{Text: "How deep is it?"}, session.Image{MIME: "image/png", Data: "iVBORw0KGgo="},
			session.Image{Data: "https://example.org/pond.jpg"}, session.OpaquePart{Type: "audio", JSON: session.Raw(`{"type":"audio","audio":["T2dnUw=="]}`)},
		},
		"k0000007": {
			session.Thinking{Text: "a sounding", Signature: "c2ln"}, session.Text{Text: "I look."},
			session.ToolCall{ID: "tc1", Name: "read", Arguments: session.Raw(`{"path":"depth.txt"}`)},
			session.ToolCall{ID: "tc2", Name: "read", Arguments: session.Raw(`{"path":"well.txt"}`)},
		},
		"k0000008": {
			session.ToolResult{CallID: "tc1", Parts: []session.Part{session.Text{Text: "2 m"}}},
			session.ToolResult{CallID: "tc2", Parts: []session.Part{session.Text{Text: "no such file"}}, IsError: true},
		},
		"k0000011": {session.Text{Text: "a heron came by"}},
		"k0000013": {session.Text{Text: "They measured the pond."}},
		"k0000016": {session.Text{Text: "Dry."}, session.OpaquePart{Type: "error", JSON: session.Raw(`"overloaded"`)}},
	} {
		if got := parts(id); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, not %+v", id, got, want)
		}
	}
}

// TestExact: a log shows which of the values wrote it.
func TestExact(t *testing.T) {
	for name, want := range map[string][2]bool{
		"operator/kinds": {true, false}, "operator-doc/sample": {false, true}, "refused/only-cwd": {false, false},
	} {
		line, _, _ := bytes.Cut(fixture(t, name), []byte{'\n'})
		first := []dialect.Record{{Data: line, Line: 1}}
		if got := [2]bool{operator.Operator.Exact(first), operator.OperatorDoc.Exact(first)}; got != want {
			t.Errorf("%s: %v; want got == %v", name, got, want)
		}
	}
}
