// Package clients tests the clients in other languages: their methods, parameters and types must be those of the OpenRPC document.
package clients

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/difftest"
)

var update = flag.Bool("update", false, "write the methods and shapes of the clients anew")

// The generated parts of the clients must be up to date with the OpenRPC document: no method is missing or left over, and parameters and
// types are equal.
func TestClients(t *testing.T) {
	t.Parallel()
	d := discover(t)
	for path, parts := range map[string]map[string]string{
		"python/treeline.py": d.python(), "node/treeline.js": d.node(), "node/treeline.d.ts": d.types(),
	} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := string(text)
		for name, part := range parts {
			want = fill(t, path, want, name, part)
		}
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if diff := difftest.Diff(string(text), want); diff != "" {
			t.Errorf("%s does not follow from the OpenRPC document; go test ./clients -update writes it:\n%s", path, diff)
		}
	}
}

// fill replaces what is between the marks of a part.
func fill(t *testing.T, path, text, name, part string) string {
	t.Helper()
	before, rest, ok := strings.Cut(text, "<"+name+">")
	head, rest, ok2 := strings.Cut(rest, "\n")
	_, after, ok3 := strings.Cut(rest, " </"+name+">")
	if !ok || !ok2 || !ok3 {
		t.Fatalf("%s has no part %s", path, name)
	}
	comment := "#"
	if !strings.HasSuffix(path, ".py") {
		comment = "//"
	}
	return before + "<" + name + ">" + head + "\n" + part + comment + " </" + name + ">" + after
}
