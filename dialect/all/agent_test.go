package all

import (
	"slices"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
)

// An agent may have several dialects.
func TestAgents(t *testing.T) {
	t.Parallel()
	var agents []string
	for _, d := range Dialects() {
		if name := dialect.Agent(d); !slices.Contains(agents, name) {
			agents = append(agents, name)
		}
	}
	want := []string{"omp", "pi", "operator", "wave", "codelia", "claude", "codex", "gemini", "qwen", "copilot", "opencode", "goose", "crush"}
	if !slices.Equal(agents, want) {
		t.Errorf("%q, want %q", agents, want)
	}
}
