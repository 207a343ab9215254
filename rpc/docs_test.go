package rpc

import (
	"os"
	"strings"
	"testing"
)

// Every method is in the documentation, and nothing else is in its tables.
func TestDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/rpc.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		cell, ok := strings.CutPrefix(line, "| `")
		if !ok {
			continue
		}
		cell, _, _ = strings.Cut(cell, " |")
		for name := range strings.SplitSeq(cell, ", ") {
			documented[strings.Trim(name, "`")] = true
		}
	}
	for name := range methods {
		if !documented[name] {
			t.Errorf("%s is not in docs/rpc.md", name)
		}
	}
	for name := range documented {
		if _, ok := methods[name]; !ok {
			t.Errorf("docs/rpc.md has %s, which is not a method", name)
		}
	}
}
