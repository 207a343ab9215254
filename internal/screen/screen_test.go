package screen

import (
	"strings"
	"testing"

	"github.com/clipperhouse/displaywidth"
)

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		line  string
		width int
		want  string
	}{
		{"short", 10, "short"},
		{"no limit at all", 0, "no limit at all"},
		{"one two three", 7, "one two|three"},
		{"one two three", 8, "one two|three"},
		{"abcdefghij", 4, "abcd|efgh|ij"},
		{"  - an indented point", 12, "  - an|  indented|  point"},
		{"日本語日本語", 5, "日本|語日|本語"},
		{"👩‍👩‍👧👩‍👩‍👧", 3, "👩‍👩‍👧|👩‍👩‍👧"},
		{"a\tb", 20, "a    b"},
		{"                    deep", 12, "       deep"},
		{"wide 語 word", 3, "wid|e|語|wor|d"},
	} {
		got := strings.Join(Wrap(c.line, c.width), "|")
		if got != c.want {
			t.Errorf("Wrap(%q, %d) = %q, want %q", c.line, c.width, got, c.want)
		}
	}
}

// FuzzWrap: no line is too wide, and nothing but spaces is lost.
func FuzzWrap(f *testing.F) {
	f.Add("  some text with 日本語 and 👩‍👩‍👧", 9)
	f.Fuzz(func(t *testing.T, s string, width int) {
		width = 4 + abs(width)%80
		line := strings.ReplaceAll(Clean(s), "\n", "")
		bare := func(s string) string { return strings.NewReplacer(" ", "", "\t", "").Replace(s) }
		all := ""
		for _, piece := range Wrap(line, width) {
			if w := displaywidth.String(piece); w > width {
				t.Errorf("%q takes %d columns of %d", piece, w, width)
			}
			all += bare(piece)
		}
		if all != bare(line) {
			t.Errorf("Wrap(%q, %d) has other text: %q", line, width, all)
		}
	})
}

func abs(n int) int { return max(n, -(n + 1)) }

func TestOneLine(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"plain", 10, "plain"},
		{"  a\n\n b\tc ", 0, "a b c"},
		{"too long by far", 8, "too lon…"},
		{"日本語日本語", 5, "日本…"},
		{"\x1b[31mred", 0, `\x1b[31mred`},
		{"not \xff UTF-8", 0, "not \ufffd UTF-8"},
		{strings.Repeat("x", 1<<20), 4, "xxx…"},
	} {
		if got := OneLine(c.text, c.most); got != c.want {
			t.Errorf("OneLine(%.40q, %d) = %q, want %q", c.text, c.most, got, c.want)
		}
	}
}

func TestCutPath(t *testing.T) {
	for _, c := range []struct {
		path string
		most int
		want string
	}{
		{"/home/me/app", 20, "/home/me/app"},
		{"/home/me/app", 9, "…/me/app"},
		{"/home/me/app", 5, "…/app"},
		{"/home/me/application", 8, "…ication"},
		{"/日本/語", 5, "…/語"},
	} {
		if got := CutPath(c.path, c.most); got != c.want {
			t.Errorf("CutPath(%q, %d) = %q, want %q", c.path, c.most, got, c.want)
		}
	}
}
