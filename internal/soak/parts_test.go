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

// The seeds of a fuzzer count: its time may end before it has tried all of them.
func TestTried(t *testing.T) {
	for progress, want := range map[string]int64{
		"": 0,
		"fuzz: elapsed: 0s, gathering baseline coverage: 0/79 completed\nFAIL\n":                                                            0,
		"fuzz: elapsed: 0s, gathering baseline coverage: 0/79 completed\nfuzz: elapsed: 3s, gathering baseline coverage: 41/79 completed\n": 41,
		"fuzz: elapsed: 4s, gathering baseline coverage: 79/79 completed, now fuzzing with 2 workers\n" +
			"fuzz: elapsed: 6s, execs: 912 (304/sec), new interesting: 3 (total: 82)\nfuzz: elapsed: 7s, execs: 1015 (0/sec), new interesting: 3 (total: 82)\n": 1015,
	} {
		if got := triedIn([]byte(progress)); got != want {
			t.Errorf("%d inputs, want %d:\n%s", got, want, progress)
		}
	}
}
