package transcript_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/transcript"
)

func editText(list []transcript.Edit) string {
	var b strings.Builder
	for i := range list {
		dumpEdit(&b, &list[i], "")
	}
	return b.String()
}

// The tools of all agents are recognized by the form of their arguments.
func TestEdits(t *testing.T) {
	for _, c := range []struct{ name, arguments, want string }{
		{"Claude's Edit", `{"file_path":"/a.go","old_string":"x := 1\n","new_string":"x := 2\n"}`,
			"edit /a.go +1 -1\n  @@\n  -x := 1\n  +x := 2\n"},
		{"inside a line", `{"file_path":"/a.go","old_string":"one","new_string":"two"}`, "edit /a.go +1 -1\n  @@\n  -one\n  +two\n"},
		{"Claude's MultiEdit", `{"file_path":"/a","edits":[{"old_string":"1","new_string":"2"},{"old_string":"3","new_string":""}]}`,
			"edit /a +1 -2\n  @@\n  -1\n  +2\n  @@\n  -3\n"},
		{"Claude's Write", `{"file_path":"/a","content":"one\ntwo\n"}`,
			"edit /a +2 -0 (the file may have had other content before)\n  @@ -0,0 +1,2 @@\n  +one\n  +two\n"},
		{"Claude's NotebookEdit", `{"notebook_path":"/n.ipynb","cell_id":"c","new_source":"print(1)"}`,
			"edit /n.ipynb +1 -0 (only the place of the change is known, not what was there)\n  @@\n  +print(1)\n"},
		{"an Edit that makes a file", `{"file_path":"/a","old_string":"","new_string":"one\n"}`, "edit /a +1 -0 new\n  @@ -0,0 +1,1 @@\n  +one\n"},
		{"pi", `{"path":"a","oldText":"1\n2\n","newText":"1\n3\n"}`, "edit a +1 -1\n  @@\n   1\n  -2\n  +3\n"},
		{"pi's list", `{"path":"a","edits":[{"oldText":"1","newText":"2"}]}`, "edit a +1 -1\n  @@\n  -1\n  +2\n"},
		{"omp's patch", `{"path":"a","diff":"--- a/a\n+++ b/a\n@@ -3 +3 @@ f\n-1\n+2\n"}`, "edit a +1 -1\n  @@ -3,1 +3,1 @@ f\n  -1\n  +2\n"},
		{"the editor of Anthropic's API", `{"command":"str_replace","path":"a","old_str":"1","new_str":"2"}`, "edit a +1 -1\n  @@\n  -1\n  +2\n"},
		{"its create", `{"command":"create","path":"a","file_text":"1\n"}`, "edit a +1 -0 new\n  @@ -0,0 +1,1 @@\n  +1\n"},
		{"its insert", `{"command":"insert","path":"a","insert_line":4,"insert_text":"1\n"}`,
			"edit a +1 -0 (only the place of the change is known, not what was there)\n  @@ -4,0 +5,1 @@\n  +1\n"},
		{"apply_patch", `{"input":"*** Begin Patch\n*** Update File: a\n@@ f\n-1\n+2\n*** Add File: b\n+new\n*** Delete File: c\n*** End Patch"}`,
			"edit a +1 -1\n  @@ f\n  -1\n  +2\nedit b +1 -0 new\n  @@ -0,0 +1,1 @@\n  +new\nedit c +0 -0 deleted\n"},
		{"apply_patch as a text", `"*** Begin Patch\n*** Update File: a\n*** Move to: b\n-1\n+2\n*** End Patch"`,
			"edit b +1 -1 from a\n  @@\n  -1\n  +2\n"},
		{"in a shell", `{"command":["bash","-lc","cd x && apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a\n-1\n+2\n*** End Patch\nEOF"]}`,
			"edit a +1 -1\n  @@\n  -1\n  +2\n"},
		{"by exec", `{"cmd":"apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a\n-1\n+2\n*** End Patch\nEOF"}`,
			"edit a +1 -1\n  @@\n  -1\n  +2\n"},
		{"no edit", `{"command":"ls","path":"a"}`, ""},
		{"reading", `{"file_path":"/a","offset":1}`, ""},
		{"not an object", `[1,2]`, ""},
		{"damaged", `{"file_path":"/a","old_st`, ""},
		{"odd types", `{"file_path":3,"old_string":[],"new_string":{},"edits":{"a":1}}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := difftest.Diff(c.want, editText(transcript.Edits(session.Raw(c.arguments)))); d != "" {
				t.Error(d)
			}
		})
	}
}

// Edits of one file become one change if their texts allow it.
func TestChanges(t *testing.T) {
	type step struct{ arguments, result string }
	ok := "result"
	for _, c := range []struct {
		name  string
		steps []step
		want  string
	}{
		{"an edit of an edit", []step{
			{`{"path":"a","oldText":"one\n","newText":"two\nthree\n"}`, ok},
			{`{"path":"a","oldText":"three\n","newText":"four\n"}`, ok},
		}, "edit a +2 -1\n  @@\n  -one\n  +two\n  +four\n"},
		{"an edit around an edit", []step{
			{`{"path":"a","oldText":"one\n","newText":"two\n"}`, ok},
			{`{"path":"a","oldText":"x\ntwo\ny\n","newText":"x\nthree\n"}`, ok},
		}, "edit a +1 -2\n  @@\n   x\n  -one\n  -y\n  +three\n"},
		{"there and back", []step{
			{`{"path":"a","oldText":"one\n","newText":"two\n"}`, ok},
			{`{"path":"a","oldText":"two\n","newText":"one\n"}`, ok},
		}, "edit a +0 -0\n"},
		{"written and edited", []step{
			{`{"command":"create","path":"a","file_text":"1\n2\n"}`, ok},
			{`{"path":"a","oldText":"2\n","newText":"3\n"}`, ok},
		}, "edit a +2 -0 new\n  @@ -0,0 +1,2 @@\n  +1\n  +3\n"},
		{"everywhere", []step{
			{`{"command":"create","path":"a","file_text":"1\n1\n"}`, ok},
			{`{"file_path":"a","old_string":"1","new_string":"2","replace_all":true}`, ok},
		}, "edit a +2 -0 new\n  @@ -0,0 +1,2 @@\n  +2\n  +2\n"},
		{"a failed call and one without a result", []step{
			{`{"path":"a","oldText":"1","newText":"2"}`, "failure"},
			{`{"path":"b","oldText":"1","newText":"2"}`, ""},
		}, ""},
		{"renamed", []step{
			{`{"path":"a","oldText":"1\n","newText":"2\n"}`, ok},
			{`{"input":"*** Begin Patch\n*** Update File: a\n*** Move to: b\n-2\n+3\n*** End Patch"}`, ok},
		}, "edit b +1 -1 from a\n  @@\n  -1\n  +3\n"},
		{"overlapping", []step{
			{`{"path":"a","oldText":"1\n","newText":"2\n3\n"}`, ok},
			{`{"path":"a","oldText":"3\n4\n","newText":"5\n"}`, ok},
		}, "edit a +3 -3 (the edits overlap, so they are shown one after the other)\n  @@\n  -1\n  +2\n  +3\n  @@\n  -3\n  -4\n  +5\n"},
		{"not in the text", []step{
			{`{"path":"a","content":"1\n"}`, ok},
			{`{"path":"a","oldText":"7\n","newText":"8\n"}`, ok},
		}, "edit a +2 -1 (the log does not show the text that an edit replaces; the file may have had other content before)\n  @@\n  -7\n  +8\n  @@ -0,0 +1,1 @@\n  +1\n"},
		{"two files, in order", []step{
			{`{"path":"b","oldText":"1","newText":"2"}`, ok},
			{`{"path":"a","oldText":"1","newText":"2"}`, ok},
			{`{"path":"b","oldText":"5","newText":"6"}`, ok},
		}, "edit b +2 -2\n  @@\n  -1\n  +2\n  @@\n  -5\n  +6\nedit a +1 -1\n  @@\n  -1\n  +2\n"},
		{"deleted", []step{
			{`{"path":"a","oldText":"1","newText":"2"}`, ok},
			{`{"input":"*** Begin Patch\n*** Delete File: a\n*** End Patch"}`, ok},
		}, "edit a +1 -1 deleted\n  @@\n  -1\n  +2\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			lines := []string{"e0 - user Go."}
			last := "e0"
			for n, s := range c.steps {
				k := fmt.Sprintf("k%d", n)
				lines = append(lines, fmt.Sprintf("%s %s call c%d edit %s", k, last, n, s.arguments))
				last = k
				if s.result != "" {
					last = fmt.Sprintf("r%d", n)
					lines = append(lines, fmt.Sprintf("%s %s %s c%d done", last, k, s.result, n))
				}
			}
			changes, err := talk(t, lines...).Changes(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			for i := range changes {
				dumpEdit(&b, &changes[i].Edit, "")
				if changes[i].Edits < 1 || len(changes[i].Entries) < 1 {
					t.Errorf("%+v; want changes[i].Edits >= 1, len(changes[i].Entries) >= 1", changes[i])
				}
			}
			if d := difftest.Diff(c.want, b.String()); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestChangesGrow: replacements that repeatedly make a text longer are limited, both in a whole text and in a piece. The limit applies to
// all files together.
func TestChangesGrow(t *testing.T) {
	const double = `{"file_path":"%s","old_string":"a","new_string":"aa","replace_all":true}`
	for _, c := range []struct{ name, first string }{
		{"whole", `{"command":"create","path":"%s","file_text":"a"}`},
		{"piece", `{"file_path":"%s","old_string":"b","new_string":"a"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			lines := []string{"e0 - user Go."}
			last := "e0"
			for file := range 4 {
				for n := range 24 {
					arguments := double
					if n == 0 {
						arguments = c.first
					}
					k, r := fmt.Sprintf("k%d.%d", file, n), fmt.Sprintf("r%d.%d", file, n)
					lines = append(lines, fmt.Sprintf("%s %s call c%s edit ", k, last, k)+fmt.Sprintf(arguments, fmt.Sprint(file)), fmt.Sprintf("%s %s result c%s done", r, k, k))
					last = r
				}
			}
			changes, err := talk(t, lines...).Changes(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			all := 0
			for i := range changes {
				e := &changes[i].Edit
				if !strings.Contains(e.Partial, "very long") || changes[i].Edits != 24 {
					t.Errorf("%s: %d edits, %s", e.Path, changes[i].Edits, e.Partial)
				}
				for _, h := range e.Hunks {
					for _, l := range h.Lines {
						all += len(l.Text)
					}
				}
			}
			if all > 2<<20 {
				t.Errorf("the texts have %d bytes", all)
			}
		})
	}
}
