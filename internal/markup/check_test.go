package markup

import (
	"regexp"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/screen"
)

// allowed are the elements and their attributes that a result may have.
var allowed = map[string]string{
	"p": "class", "br": "", "hr": "", "h1": "id", "h2": "id", "h3": "id", "h4": "id", "h5": "id", "h6": "id", "blockquote": "",
	"ul": "dir", "ol": "dir start", "li": "class", "pre": "", "code": "class", "em": "", "strong": "", "del": "", "span": "class",
	"a": "href rel title", "table": "", "thead": "", "tbody": "", "tr": "", "th": "class", "td": "class",
}

var (
	tagPattern       = regexp.MustCompile(`^<(/?)([a-z0-9]+)((?: [a-z]+="[^"<>]*")*)>`)
	attributePattern = regexp.MustCompile(` ([a-z]+)="([^"]*)"`)
	entityPattern    = regexp.MustCompile(`^&(lt|gt|amp|#34|#39);`)
	hrefPattern      = regexp.MustCompile(`^(https?://|mailto:|#)[^\s<>"'\\` + "`" + `]+$`)
	classPattern     = regexp.MustCompile(`^(k|s|c|n|f|t|o|m|a|d|ctl|cut|dest|task|right|center|lang-[a-z]+)$`)
)

// check is stricter than a browser. It reports anything but balanced elements of the list with attributes of the list. It also reports a
// character that has a meaning in HTML, controls something, or changes the direction of writing.
func check(t *testing.T, html string) {
	t.Helper()
	var open []string
	for i := 0; i < len(html); {
		rest := html[i:]
		switch rest[0] {
		case '<':
			m := tagPattern.FindStringSubmatch(rest)
			if m == nil {
				t.Fatalf("not a tag: %.80q", rest)
			}
			open = element(t, open, m[2], m[3], m[1] == "/")
			i += len(m[0])
			continue
		case '&':
			m := entityPattern.FindString(rest)
			if m == "" {
				t.Fatalf("not an entity: %.80q", rest)
			}
			i += len(m)
			continue
		case '>', '"', '\'':
			t.Fatalf("not escaped: %.80q", rest)
		}
		n := strings.IndexAny(rest, `<>&"'`)
		if n < 0 {
			n = len(rest)
		}
		if bad := strings.IndexFunc(rest[:n], screen.Dangerous); bad >= 0 {
			t.Fatalf("dangerous character: %.80q", rest[bad:])
		}
		i += n
	}
	if len(open) > 0 {
		t.Fatalf("not closed: %v", open)
	}
}

// element checks one tag and returns the open elements after it.
func element(t *testing.T, open []string, name, attributes string, closes bool) []string {
	t.Helper()
	names, ok := allowed[name]
	if !ok {
		t.Fatalf("element %q", name)
	}
	if closes {
		if len(open) == 0 || open[len(open)-1] != name || attributes != "" {
			t.Fatalf("</%s> closes %v", name, open)
		}
		return open[:len(open)-1]
	}
	for _, a := range attributePattern.FindAllStringSubmatch(attributes, -1) {
		switch {
		case !strings.Contains(" "+names+" ", " "+a[1]+" "):
			t.Fatalf("attribute %s of %s", a[1], name)
		case a[1] == "href" && !hrefPattern.MatchString(strings.ReplaceAll(a[2], "&amp;", "&")):
			t.Fatalf("href %q", a[2])
		case a[1] == "class" && !classPattern.MatchString(a[2]):
			t.Fatalf("class %q", a[2])
		case strings.IndexFunc(a[2], screen.Dangerous) >= 0:
			t.Fatalf("dangerous character in %s=%q", a[1], a[2])
		}
	}
	if name == "br" || name == "hr" {
		return open
	}
	if len(open) > 200 {
		t.Fatalf("too deep: %v", open)
	}
	if name == "a" && strings.Contains(" "+strings.Join(open, " ")+" ", " a ") {
		t.Fatal("link in a link")
	}
	return append(open, name)
}

// seeds are attacks, and texts that are known to confuse Markdown parsers.
var seeds = []string{
	"<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "[a](javascript:alert(1))", "[a](JaVa\tscript:alert(1))",
	"[a](<javascript:alert(1)>)", "[a](data:text/html,<script>alert(1)</script>)", "![a](\"onerror=alert(1))", "<javascript:alert(1)>",
	"[a](https://x\"onclick=alert(1))", "[a](https://x 'y\" onclick=\"z')", "<https://x\"onclick=y>", "https://x\"onclick=y",
	"```\"onclick=y\nx\n```", "~~~js\n</code></pre><script>\n~~~", "# a {onclick=b}", "[a]: javascript:x\n[a]", "&#x3c;script&#x3e;", "&lt;script&gt;",
	"| a | b |\n|--|--|\n| <b> | [x](javascript:y) |", "|\n|-", "a|b\n-|-\n\\|", "- [ ] <x>", "- [x]", "1) a\n   > b\n\n      c", "\x1b[31m\x1b]8;;http://x\x07y", "a\u202eb\u2066c",
	"\xff\xfe`\x00`", "***a** b*", "~~a~~~~b~~", "[[a](https://b)](https://c)", "![[a](https://b)](https://c)", "**[a*](https://b)", "`a``b`", "a\\\nb  \nc", "***",
	"===\na\n===", "\ta\n\n\tb", "```html\n<a b='c\n```", "```rust\n'a 'b' '\\'\n```", "```c\n#define a \\\n b\n```", "```yaml\na: |\n  b\nc: \"d\" # e\n```",
	"```css\na{b:c}}\n```", "```sh\n$ ${a\n```", "```json\n{\"a\":1,\"b\n```", "```diff\n+a\n-b\n@@\n```", "www.a.b.", "http://", "https://[::1]/a", "www.[", "a\r\nb\r\n", "\\é",
}

func FuzzHTML(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		check(t, html(text, 0))
		check(t, html(text, 20))
	})
}

// FuzzCode checks that highlighting changes nothing of the text. Repeated control characters may be counted in other groups.
func FuzzCode(f *testing.F) {
	for _, s := range seeds {
		for _, l := range languages() {
			f.Add(s, l.name)
		}
	}
	tags := regexp.MustCompile(`<[^>]*>`)
	f.Fuzz(func(t *testing.T, source, language string) {
		check(t, code(source, language))
		source = strings.Map(func(r rune) rune {
			if screen.Dangerous(r) {
				return -1
			}
			return r
		}, source)
		got, plain := code(source, language), code(source, "")
		if a, b := tags.ReplaceAllString(got, ""), tags.ReplaceAllString(plain, ""); a != b {
			t.Errorf("%s: the text of %q is %q, not %q", language, source, a, b)
		}
	})
}
