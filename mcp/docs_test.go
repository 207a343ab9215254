package mcp

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/difftest"
)

var update = flag.Bool("update", false, "write docs/mcp.md anew")

// TestDocumented: the tools in docs/mcp.md match the real ones. -update rewrites them.
func TestDocumented(t *testing.T) {
	t.Parallel()
	const path, begin, end = "../docs/mcp.md", "<!-- tools -->\n", "<!-- end -->\n"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatalf("%s has no place for the tools", path)
	}
	var b strings.Builder
	b.WriteString(before + begin)
	for _, tool := range tools() {
		fmt.Fprintf(&b, "\n### `%s`\n\n", tool.name)
		for line := range strings.Lines(tool.doc) {
			if examples, ok := strings.CutPrefix(line, "Examples: "); ok {
				line = "Examples: `" + strings.ReplaceAll(examples, "; {", "` `{") + "`"
			}
			b.WriteString(strings.TrimSpace(line) + "\n\n")
		}
		b.WriteString("| argument | | |\n|---|---|---|\n")
		for _, a := range argumentsOf(tool.in) {
			kind := a.typeName()
			if len(a.one) > 0 {
				kind += ": `" + strings.Join(a.one, "` `") + "`"
			}
			if a.needed {
				kind += "; needed"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", a.name, kind, strings.ReplaceAll(a.doc, "*", "\\*"))
		}
	}
	b.WriteString("\n" + end + after)
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := difftest.Diff(string(text), b.String()); diff != "" {
		t.Errorf("docs/mcp.md (-is +should be), which go test ./mcp -update writes:\n%s", diff)
	}
}
