package markup

import (
	"bytes"
	"strings"
	"testing"
)

func TestQuote(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain *text*, a < b":                      "plain *text*, a &lt; b\n",
		"<img src=x onerror=alert(1)> `<b>` x":     "&lt;img src=x onerror=alert(1)> `<b>` x\n",
		"```html\n<b>\n```\n<i>":                   "```html\n<b>\n```\n&lt;i>\n",
		"```\nopen <b>":                            "```\nopen <b>\n```\n",
		"~~~~\nopen\n~~~":                          "~~~~\nopen\n~~~\n~~~~\n",
		"- ```\n  <a>\n<b>":                        "- ```\n  <a>\n&lt;b>\n",
		"1. do\n   ```sh\n   a <b\n   ```\n\ndone": "1. do\n   ```sh\n   a <b\n   ```\n\ndone\n",
		" ```\n<a>\n```\n<b>":                      " ```\n<a>\n```\n&lt;b>\n",
		"| `a | <img> ` |\n|--|--|":                "| `a | &lt;img> ` |\n|--|--|\n",
		"\\`<b>`":                                  "\\`&lt;b>`\n",
		"![x](http://h/i.png) \\![y](z)":           "\\![x](http://h/i.png) \\![y](z)\n",
		"[x](javascript:alert(1)) metadata: y":     "[x](javascript\u200b:alert(1)) metadata: y\n",
		"ask @bob, a@b.c, fixes #12, # title":      "ask @\u200bbob, a@b.c, fixes #\u200b12, # title\n",
		"\x1b[31mred\x1b[0m\r\nnext":               "\\x1b[31mred\\x1b[0m\nnext\n",
		"    indented <b>":                         "    indented <b>\n",
	} {
		if got := Quote(in); got != want {
			t.Errorf("%q:\n got %q\nwant %q", in, got, want)
		}
	}
	long := strings.Repeat("word <b> `<c>`\n\n", 10_000)
	if got := Quote(long); got != strings.Repeat("word &lt;b> `<c>`\n\n", 9_999)+"word &lt;b> `<c>`\n" {
		t.Error("a long text is quoted in another way than a short one")
	}
}

func TestFence(t *testing.T) {
	t.Parallel()
	if got, want := Fence("a\n````\n\n", "go"), "`````go\na\n````\n`````\n"; got != want {
		t.Errorf("%q; want got == %v", got, want)
	}
}

// FuzzQuote: text after a quoted text is not part of it.
func FuzzQuote(f *testing.F) {
	f.Add("```\nx")
	f.Add("- a\n  ~~~")
	f.Add("> `x\n> ```")
	f.Fuzz(func(t *testing.T, s string) {
		var b bytes.Buffer
		HTML(&b, Quote(s)+"\nFOLLOWS\n", 0)
		if !strings.HasSuffix(b.String(), "<p>FOLLOWS</p>\n") {
			t.Errorf("%q became %q, and a paragraph after it %q", s, Quote(s), b.String())
		}
	})
}
