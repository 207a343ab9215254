package markup

import (
	"bytes"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/difftest"
)

func html(text string, most int) string {
	var b bytes.Buffer
	HTML(&b, text, most)
	return b.String()
}

const rel = ` rel="noopener noreferrer nofollow"`

func TestMarkdown(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"inline", "a *b* **c** ~~d~~ `e`", "<p>a <em>b</em> <strong>c</strong> <del>d</del> <code>e</code></p>\n"},
		{"newlines are breaks", "one\ntwo", "<p>one<br>\ntwo</p>\n"},
		{"carriage returns", "a `b\r\nc`\r\nd\r\n\r\n    e\r\n", "<p>a <code>b c</code><br>\nd</p>\n<pre><code>e\n</code></pre>\n"},
		{"home directories are not deleted", "~/a and ~/b", "<p>~/a and ~/b</p>\n"},
		{"escapes", `\*a\* &lt;b&gt; &copy; &unknown; \&amp;`, "<p>*a* &lt;b&gt; © &amp;unknown; &amp;amp;</p>\n"},
		{"heading", "## Über *us*", "<h2>Über <em>us</em></h2>\n"},
		{"list", "3. a\n4. b", "<ol dir=\"auto\" start=\"3\">\n<li>a</li>\n<li>b</li>\n</ol>\n"},
		{"tasks", "- [ ] a\n- [x] b\n- [c] d", "<ul dir=\"auto\">\n<li class=\"task\">☐ a</li>\n<li class=\"task\">☑ b</li>\n<li>[c] d</li>\n</ul>\n"},
		{"table", "before\n| a | b |\n|:--|:-:|\n| `x \\| y` | |\n| 1", "<p>before</p>\n<table>\n<thead>\n<tr><th>a</th><th class=\"center\">b</th></tr>\n" +
			"</thead>\n<tbody>\n<tr><td><code>x | y</code></td><td class=\"center\"></td></tr>\n<tr><td>1</td></tr>\n</tbody>\n</table>\n"},
		{"no table", "a | b\nc | d", "<p>a | b<br>\nc | d</p>\n"},
		{"quote", "> a", "<blockquote><p>a</p>\n</blockquote>\n"},
		{"link", `[a](HTTPS://x.org/?q=1&r="2" "<t>")`, `<p><a href="https://x.org/?q=1&amp;r=%222%22"` + rel + ` title="&lt;t&gt;">a</a></p>` + "\n"},
		{"bare link", "see (https://x.org/a_b_(c)). Then", `<p>see (<a href="https://x.org/a_b_(c)"` + rel + `>https://x.org/a_b_(c)</a>). Then</p>` + "\n"},
		{"bare link before full-width punctuation", "https://x.org，然后", `<p><a href="https://x.org"` + rel + `>https://x.org</a>，然后</p>` + "\n"},
		{"bare link without scheme", "www.x.org", `<p><a href="http://www.x.org"` + rel + ">www.x.org</a></p>\n"},
		{"mail", "<a@b.org>", `<p><a href="mailto:a@b.org"` + rel + ">a@b.org</a></p>\n"},
		{"angle brackets of code", "vector<std::string> <javascript:x>", "<p>vector&lt;std::string&gt; &lt;javascript:x&gt;</p>\n"},
		{"no link in a link", "[https://a.b](https://c.d)", `<p><a href="https://c.d"` + rel + ">https://a.b</a></p>\n"},
		{"fragment", "# B\n[a](#b)", "<h1>B</h1>\n" + `<p>a <span class="dest">(#b)</span></p>` + "\n"},
		{"script", "[a](javascript:alert(1))", `<p>a <span class="dest">(javascript:alert(1))</span></p>` + "\n"},
		{"hidden script", "[a](java&#115;cript:alert&lpar;1&rpar;)", `<p>a <span class="dest">(javascript:alert(1))</span></p>` + "\n"},
		{"path", "[sum.go](pricing/sum.go:14)", `<p>sum.go <span class="dest">(pricing/sum.go:14)</span></p>` + "\n"},
		{"image", "![a](https://x.org/a.png)", `<p><a href="https://x.org/a.png"` + rel + ">🖼 a</a></p>\n"},
		{"image in data", "![a](data:image/svg+xml,x)", `<p>🖼 a <span class="dest">(data:image/svg+xml,x)</span></p>` + "\n"},
		{"raw HTML", "<img src=x onerror=alert(1)>\n\na <b>c</b>", "<p>&lt;img src=x onerror=alert(1)&gt;</p>\n<p>a &lt;b&gt;c&lt;/b&gt;</p>\n"},
		{"comment", "<!-- hidden -->", "<p>&lt;!-- hidden --&gt;</p>\n"},
		{"reference", "[//]: # (hidden)", "<p>[//]: # (hidden)</p>\n"},
		{"code", "```go\nreturn 1 // <b>\n```", "<pre><code class=\"lang-go\"><span class=\"k\">return</span> <span class=\"n\">1</span> " +
			"<span class=\"c\">// &lt;b&gt;</span>\n</code></pre>\n"},
		{"code of an unknown language", "```\"><b>\nx\n```", "<pre><code>x\n</code></pre>\n"},
		{"indented code", "    a < b", "<pre><code>a &lt; b\n</code></pre>\n"},
		{"direction in a reference", "&#x202E;", "<p><span class=\"ctl\">U+202E</span></p>\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := html(c.text, 0)
			if diff := difftest.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			check(t, got)
		})
	}
}

func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"a\tb\r\nc":                "a\tb\nc",
		"<a href=\"'&":             "&lt;a href=&#34;&#39;&amp;",
		"\x1b[1;31mred":            `<span class="ctl">‹ESC›[1;31m</span>red`,
		"\x1b]0;title\x07":         `<span class="ctl">‹ESC›</span>]0;title<span class="ctl">‹BEL›</span>`,
		"\x1b[<script>":            `<span class="ctl">‹ESC›</span>[&lt;script&gt;`,
		"10%\r20%":                 `10%<span class="ctl">‹CR›</span>20%`,
		"a\u202eb":                 `a<span class="ctl">U+202E</span>b`,
		"\x00\x00\x00\u202e\u202e": `<span class="ctl">‹NUL›×3</span><span class="ctl">U+202E×2</span>`,
		"\u200d\u2066":             "\u200d" + `<span class="ctl">U+2066</span>`,
		"\U000e0041":               `<span class="ctl">U+E0041</span>`,
		"\x7f\x00":                 `<span class="ctl">‹DEL›</span><span class="ctl">‹NUL›</span>`,
		"\x85\xff é":               "\ufffd\ufffd é",
		"\u0085":                   `<span class="ctl">U+0085</span>`,
	} {
		var b bytes.Buffer
		Plain(&b, text)
		if diff := difftest.Diff(want, b.String()); diff != "" {
			t.Errorf(`%q: %s; want diff == ""`, text, diff)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		text string
		max  int
		want string
	}{
		{"one\ntwo\nthree", 9, "<p>one<br>\ntwo</p>\n<p class=\"cut\">… 5 more bytes</p>\n"},
		{"éééé", 5, "<p>éé</p>\n<p class=\"cut\">… 4 more bytes</p>\n"},
		{"```\ncode\nmore code", 12, "<pre><code>code\n</code></pre>\n<p class=\"cut\">… 9 more bytes</p>\n"},
		{"short", 5, "<p>short</p>\n"},
	} {
		if diff := difftest.Diff(c.want, html(c.text, c.max)); diff != "" {
			t.Errorf(`%q: %s; want diff == ""`, c.text, diff)
		}
	}
}

// Many blank lines are dropped, but only outside code.
func TestBlankLines(t *testing.T) {
	many := strings.Repeat("\n", 100)
	got := html("a"+many+"~~~\nb"+many+"c\n~~~"+many+"d", 0)
	if want := "<p>a</p>\n<pre><code>b" + many + "c\n</code></pre>\n<p>d</p>\n"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
}

// A text that is parsed in pieces loses nothing, and a code block continues in the next piece.
func TestPieces(t *testing.T) {
	line := "fmt.Println(*p)\n"
	text := "Before.\n\n```\n" + strings.Repeat(line, 3*maxPiece/len(line)) + "```\n\n*After.*\n"
	got := html(text, 0)
	check(t, got)
	if n := strings.Count(got, line); n != 3*maxPiece/len(line) {
		t.Errorf("%d lines of %d", n, 3*maxPiece/len(line))
	}
	if n := strings.Count(got, "<pre>"); n != 4 || !strings.HasSuffix(got, "</code></pre>\n<p><em>After.</em></p>\n") {
		t.Errorf("%d code blocks; the end is %s", n, got[len(got)-100:])
	}
}
