package copilot_test

import (
	"testing"

	"github.com/treeline-dev/treeline/dialect/copilot"
)

// TestCaption: names in workspace.yaml are plain or quoted.
func TestCaption(t *testing.T) {
	for content, want := range map[string]string{
		"":                                    "",
		"id: x\ncwd: /p\n":                    "",
		"id: x\nname: The pond\ncwd: /p\n":    "The pond",
		"name: The pond\r\n":                  "The pond",
		"name: \"A \\\"pond\\\": deep\"\n":    `A "pond": deep`,
		"name: 'It''s a pond'\n":              "It's a pond",
		"name: |-\n  two\n  lines\n":          "",
		"name: null\n":                        "",
		"name:\n":                             "",
		"client_name: x\nname: fix: the pond": "fix: the pond",
	} {
		if got := copilot.Copilot.Caption([]byte(content)); got != want {
			t.Errorf("%q: %q, want %q", content, got, want)
		}
	}
}
