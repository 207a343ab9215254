package dialecttest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/session"
)

// golden: the log decodes to what the golden file says, and is refused only in the folder of refused logs.
func (f *fixture) golden(t *testing.T) {
	tree, err := Decode(f.d, f.name, f.data)
	got := describe(tree, err)
	if (err != nil) != (f.value == refused) {
		t.Errorf("it is read with the error %v", err)
	}
	file := strings.TrimSuffix(f.path, ".jsonl") + ".golden"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := Diff(string(want), got); diff != "" {
		t.Errorf("%s is not what %s says (-want +got):\n%s", f.path, file, diff)
	}
}

// describe lists everything that a tree knows without looking into entries.
func describe(tree *session.Tree, err error) string {
	var b strings.Builder
	if err != nil {
		fmt.Fprintf(&b, "refused %v\n", err)
		return b.String()
	}
	h := tree.Header()
	fmt.Fprintf(&b, "header  line %d @%d+%d id=%q version=%d cwd=%q title=%q parent=%q time=%s newer=%v\n",
		h.Line, h.Span.Offset, h.Span.Length, h.ID, h.Version, h.CWD, h.Title, h.Parent, h.Timestamp.Text, h.Newer)
	for e := range tree.Entries() {
		fmt.Fprintf(&b, "entry   line %d @%d+%d %q <- %q %s", e.Line, e.Span.Offset, e.Span.Length, e.ID, e.Parent, e.Kind)
		if e.Kind == session.KindOpaque {
			fmt.Fprintf(&b, "(%s)", e.Type)
		}
		if e.Role != session.RoleNone {
			fmt.Fprintf(&b, " %s", e.Role)
		}
		if e.NativeID != e.ID {
			fmt.Fprintf(&b, " native=%q", e.NativeID)
		}
		if e.Migrated {
			b.WriteString(" migrated")
		}
		if kept, ok := e.FirstKept(); ok {
			fmt.Fprintf(&b, " keeps=%q", kept)
		}
		if label := tree.Label(e.ID); label != "" {
			fmt.Fprintf(&b, " label=%q", label)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "leaf    %q\n", tree.LeafID())
	for _, p := range tree.Problems() {
		fmt.Fprintf(&b, "problem line %d @%d %s: %s\n", p.Line, p.Offset, p.Kind, p.Message)
	}
	return b.String()
}

// Diff shows the lines in which two texts differ, "" where they are equal. Equal lines at both ends are left out.
func Diff(want, got string) string {
	if want == got {
		return ""
	}
	a, b := strings.SplitAfter(want, "\n"), strings.SplitAfter(got, "\n")
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	var out strings.Builder
	for _, side := range []struct {
		mark  string
		lines []string
	}{{"-", a}, {"+", b}} {
		for _, l := range side.lines {
			out.WriteString(side.mark + strings.TrimSuffix(l, "\n") + "\n")
		}
	}
	return out.String()
}
