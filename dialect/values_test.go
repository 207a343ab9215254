package dialect_test

import (
	"testing"

	"github.com/treeline-dev/treeline/dialect"
)

// The provider follows from the usual names of its models, and from those of gateways.
func TestProviderOf(t *testing.T) {
	for model, want := range map[string]string{
		"claude-sonnet-4-5": "anthropic", "gpt-4": "openai", "o3-mini": "openai", "gemini-2.5-pro": "google", "Claude-x": "anthropic",
		"meta/llama-4": "meta", "m1": "", "": "",
	} {
		if got := dialect.ProviderOf(model); got != want {
			t.Errorf("%q: %q, want %q", model, got, want)
		}
	}
}
