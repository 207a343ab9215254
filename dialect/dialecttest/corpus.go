package dialecttest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Corpus gives a folder of real sessions and of what their programs make of them, below the folder that TREELINE_CORPUS
// names. It is in no repository: without it the test is skipped. .ci/run allows no other skips and recognises these tests
// by the word Corpus in their names.
func Corpus(t *testing.T, agent string) string {
	t.Helper()
	// .ci/run depends on the name
	if !strings.Contains(t.Name(), "Corpus") {
		t.Fatal("a test that needs real sessions has Corpus in its name")
	}
	corpus := os.Getenv("TREELINE_CORPUS")
	if corpus == "" {
		t.Skip("TREELINE_CORPUS names no folder of real sessions")
	}
	dir := filepath.Join(corpus, agent)
	if _, err := os.Stat(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}
