package dialecttest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// Seen compares what the model sees at the leaf of each fixture of a value, and what it does not see, with <name>.context
// beside the fixture. "go test -update" writes these files.
func Seen(t *testing.T, dir string, d dialect.Dialect) {
	files, err := filepath.Glob(filepath.Join(dir, d.Name(), "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		log, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tree, err := Decode(d, filepath.Base(file), log)
		if err != nil {
			t.Fatal(err)
		}
		got := seenAt(t, tree)
		golden := strings.TrimSuffix(file, ".jsonl") + ".context"
		if Updating() {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

// seenAt lists the path to the leaf, the messages there, and the problems.
func seenAt(t *testing.T, tree *session.Tree) string {
	t.Helper()
	var b strings.Builder
	path, err := tree.Path(tree.LeafID())
	if err != nil {
		t.Fatal(err)
	}
	b.WriteString("path   ")
	for _, e := range path.Entries() {
		fmt.Fprintf(&b, " %q", e.ID)
	}
	c, err := session.BuildContext(tree, tree.LeafID(), session.ContextOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b.WriteString("\n")
	for m, err := range c.Messages() {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "message %s\n", m.JSON)
	}
	for _, p := range c.Problems() {
		fmt.Fprintf(&b, "problem line %d @%d %s: %s; %s\n", p.Line, p.Offset, p.Kind, p.Message, p.Advice)
	}
	return b.String()
}
