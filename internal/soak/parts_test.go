package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every part names tests that exist.
func TestParts(t *testing.T) {
	for _, p := range parts {
		files, err := filepath.Glob(filepath.Join("..", "..", p.pkg, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text.Write(content)
		}
		for _, name := range strings.Fields(p.run) {
			name, _, _ = strings.Cut(strings.TrimPrefix(name, "^"), "$")
			if !strings.Contains(text.String(), "\nfunc "+name+"(") {
				t.Errorf("%s: %s has no test %s, want one", p.name, p.pkg, name)
			}
		}
	}
}
