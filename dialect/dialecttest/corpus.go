package dialecttest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Corpus gives a folder of real sessions, and of what their programs make of them: one of those in the folder that
// TREELINE_CORPUS names. It lies beside some checkouts and in no repository, so that the test is skipped where there is
// none. .ci/run lets nothing else be skipped; it knows these tests by the word Corpus in their names.
func Corpus(t *testing.T, agent string) string {
	t.Helper()
	// the name is what .ci/run goes by
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
