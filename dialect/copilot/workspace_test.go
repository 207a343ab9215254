package copilot_test

import (
	"testing"

	"github.com/treeline-dev/treeline/dialect/copilot"
)

// TestSetCaption: the name changes, and the rest stays.
func TestSetCaption(t *testing.T) {
	for _, c := range []struct{ content, title, want string }{
		{"id: x\nname: old\nuser_named: false\ncwd: /p\n", "A \"pond\"", "id: x\nname: \"A \\\"pond\\\"\"\nuser_named: true\ncwd: /p\n"},
		{"id: x\nname: |-\n  two\n  lines\nclient_name: y\n", "new", "id: x\nname: \"new\"\nclient_name: y\n"},
		{"id: x\nname: |-\n  two\n\n  paragraphs\nclient_name: y\n", "new", "id: x\nname: \"new\"\nclient_name: y\n"},
		{"id: x\n", "new", ""},
		{"name: old\n", "", ""},
	} {
		got := string(copilot.Copilot.SetCaption([]byte(c.content), c.title))
		if got != c.want {
			t.Errorf("%q: %q, want %q", c.content, got, c.want)
		}
		if got != "" && copilot.Copilot.Caption([]byte(got)) != c.title {
			t.Errorf("%q does not have the name %q", got, c.title)
		}
	}
}

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
