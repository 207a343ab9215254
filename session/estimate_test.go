package session

import (
	"strings"
	"testing"
)

// TestEstimate: the guess depends on the script of a text and counts everything that is sent.
func TestEstimate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		parts []Part
		want  int64
	}{
		"nothing":    {nil, 0},
		"latin":      {[]Part{Text{strings.Repeat("word ", 40)}}, 50},
		"umlauts":    {[]Part{Text{"äöüß"}}, 1},
		"cyrillic":   {[]Part{Text{"привет"}}, 3},
		"devanagari": {[]Part{Text{"नम"}}, 1},
		"chinese":    {[]Part{Text{"你好吗"}}, 3},
		"emoji":      {[]Part{Text{"🙂"}}, 1},
		"dashes":     {[]Part{Text{"——"}}, 1},
		"thinking":   {[]Part{Thinking{Text: "hmmm", Signature: "abcdefgh"}}, 3},
		"call":       {[]Part{ToolCall{ID: "call", Name: "bash", Arguments: Raw(`{"a":1}`)}}, 4},
		"result":     {[]Part{ToolResult{CallID: "call", Parts: []Part{Text{"four"}, Image{}}}}, 1202},
		"image":      {[]Part{Image{Data: strings.Repeat("x", 100_000)}}, 1200},
		"unknown":    {[]Part{OpaquePart{JSON: Raw(`{"x":12}`)}}, 2},
	} {
		if got := Estimate(c.parts); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
