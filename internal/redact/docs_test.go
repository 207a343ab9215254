package redact

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/difftest"
)

var update = flag.Bool("update", false, "write the list of kinds into docs/security.md")

// TestKindsInDocs: docs/security.md lists all kinds, at least 60.
func TestKindsInDocs(t *testing.T) {
	const path, begin, end = "../../docs/security.md", "<!-- The table is made from the code by go test ./internal/redact -update. -->\n", "<!-- End of the table. -->"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), begin)
	table, tail, found := strings.Cut(rest, end)
	if !ok || !found {
		t.Fatal("no place for the table in " + path)
	}
	list := kinds()
	if len(list) < 60 {
		t.Errorf("%d kinds; want 60 or more", len(list))
	}
	var want strings.Builder
	want.WriteString("\n| kind | looks like |\n|---|---|\n")
	seen := map[string]bool{}
	for _, k := range list {
		if seen[k.name] {
			t.Errorf("%q is there twice", k.name)
		}
		seen[k.name] = true
		looks := k.about
		if looks == "" {
			looks = "`" + strings.Join(k.shapes, "`, `") + "`"
		}
		want.WriteString("| " + k.name + " | " + looks + " |\n")
	}
	want.WriteString("\n")
	if *update {
		if err := os.WriteFile(path, []byte(head+begin+want.String()+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := difftest.Diff(want.String(), table); diff != "" {
		t.Errorf("%s is not what the code says; go test ./internal/redact -update writes it (-want +got):\n%s", path, diff)
	}
}
