package markup_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/markup"
)

// drawn returns a text's blocks as an interface without a width would draw them: spans with a style are in angle brackets after its number,
// tokens of code after their class.
func drawn(text string) string {
	var b strings.Builder
	for _, k := range markup.Blocks(text) {
		if k.Gap {
			b.WriteString(k.Between + "\n")
		}
		prefix := k.First
		line := func(spans []markup.Span) {
			b.WriteString(prefix)
			prefix = k.Rest
			for _, s := range spans {
				switch {
				case s.Class != "":
					fmt.Fprintf(&b, "%s<%s>", s.Class, s.Text)
				case s.Style != 0:
					fmt.Fprintf(&b, "%d<%s>", s.Style, s.Text)
				default:
					b.WriteString(s.Text)
				}
			}
			b.WriteByte('\n')
		}
		switch k.Kind {
		case markup.Heading:
			prefix += strings.Repeat("#", k.Level) + " "
		case markup.ThematicBreak:
			b.WriteString(prefix + "---\n")
		case markup.Table:
			for _, row := range k.Rows {
				var cells []markup.Span
				for _, c := range row {
					cells = append(append(cells, markup.Span{Text: c.Align + "|"}), c.Spans...)
				}
				line(cells)
			}
		}
		for _, l := range k.Lines {
			line(l)
		}
	}
	return b.String()
}

func TestBlocks(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"prose", "One *two* **three**\nfour `five` ~~six~~.\n\nSeven.", "One 2<two> 1<three>\nfour 8<five> 4<six>.\n\nSeven.\n"},
		{"heading", "# One\ntwo\n\n---\n", "# One\n\ntwo\n\n---\n"},
		{"tight list", "A:\n- one\n- two\n  - three\n\nEnd", "A:\n\n• one\n• two\n  • three\n\nEnd\n"},
		{"loose list", "3. one\n\n   more\n\n4. two", "3. one\n\n   more\n\n4. two\n"},
		{"tasks", "- [x] one\n- [ ] **two**", "☑ one\n☐ 1<two>\n"},
		{"quote", "> one\n>\n> - two\n> - three\n\nfour", "│ one\n│\n│ • two\n│ • three\n\nfour\n"},
		{"quote after prose", "one\n\n> two", "one\n\n│ two\n"},
		{"list in quote in list", "- > one\n  > two", "• │ one\n  │ two\n"},
		{"code", "```go\nfunc f() {\n\n}\n```\nafter", "k<func> f<f>() {\n\n}\n\nafter\n"},
		{"unknown language", "```wat\na <b>\n```", "a <b>\n"},
		{"indented code in a list", "1. one\n\n   ```\n   two\n     three\n   ```", "1. one\n\n   two\n     three\n"},
		{"table", "|a|b|\n|--|-:|\n|`x\\|y`|2|\n", "|aright|b\n|8<x|y>right|2\n"},
		{"links", "[a](http://b.c) <http://d.e> http://f.g [h](#) ![i](j.png)",
			"16<a>32< (http://b.c)> 16<http://d.e> 16<http://f.g> 16<h>32< (#)> 16<🖼 i>32< (j.png)>\n"},
		{"label that is its destination", "[http://b.c](http://b.c)", "16<http://b.c>\n"},
		{"raw HTML", "<script>alert(1)</script>", "<script>alert(1)</script>\n"},
		{"references", "&lt;&#65; \\*x\\*", "<A *x*\n"},
		{"empty", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := difftest.Diff(c.want, drawn(c.text)); d != "" {
				t.Error(d)
			}
		})
	}
}

// A text that is cut into pieces shows the same lines, and code continues as code.
func TestSplit(t *testing.T) {
	line := "x := \"a string\" // and a comment\n"
	text := "Before.\n\n```go\n" + strings.Repeat(line, 300) + "```\n\n*After.*\n"
	pieces := markup.Split(text, 1000)
	if len(pieces) < 9 {
		t.Fatalf("%d pieces", len(pieces))
	}
	var all strings.Builder
	for _, p := range pieces {
		if len(p) > 1100 {
			t.Errorf("a piece of %d bytes", len(p))
		}
		all.WriteString(drawn(p))
	}
	if n := strings.Count(all.String(), `s<"a string"> c<// and a comment>`); n != 300 {
		t.Errorf("%d lines of code", n)
	}
	if !strings.HasSuffix(all.String(), "2<After.>\n") {
		t.Error("the end is not prose")
	}
}

// Every character of a text that is not a sign of Markdown is in its blocks.
func FuzzBlocksKeepLetters(f *testing.F) {
	f.Add("# a\n- b\n  > c `d` [e](f)\n```\ng\n```\n|h|i|\n|-|-|\n|j|k|\n")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsAny(text, "&`~") { // references, and the language after a fence
			return
		}
		letters := func(s string) (all string) {
			for _, r := range s {
				if r >= 'a' && r <= 'z' {
					all += string(r)
				}
			}
			return all
		}
		var b strings.Builder
		for _, k := range markup.Blocks(text) {
			for _, row := range k.Rows {
				for _, c := range row {
					k.Lines = append(k.Lines, c.Spans)
				}
			}
			for _, l := range k.Lines {
				for _, s := range l {
					b.WriteString(s.Text)
				}
			}
		}
		got, want := letters(b.String()), letters(text)
		if strings.Contains(text, "](") || strings.Contains(text, "!") {
			return // titles of links are not shown, and images are named
		}
		if got != want {
			t.Errorf("%q of %q", got, want)
		}
	})
}
