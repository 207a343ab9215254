package markup

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/difftest"
)

func code(source, language string) string {
	var b bytes.Buffer
	Code(&b, source, language)
	return b.String()
}

// short shows a span as class{text}, so that expectations can be read.
func short(html string) string {
	html = regexp.MustCompile(`<span class="([a-z]+)">([^<]*)</span>`).ReplaceAllString(html, "$1{$2}")
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&#34;", `"`, "&#39;", "'", "&amp;", "&").Replace(html)
}

func TestCode(t *testing.T) {
	for _, c := range []struct{ language, source, want string }{
		{"go", "func (s *S) F() error { return `a\\` }", "k{func} (s o{*}S) f{F}() t{error} { k{return} s{`a\\`} }"},
		{"golang", "x := 0x1F // c\r\n", "x o{:=} n{0x1F} c{// c}\n"},
		{"tsx", "@Dec class A { f = async (x: string) => `a\n${x}` }", "m{@Dec} k{class} t{A} { f o{=} k{async} (x: t{string}) o{=>} s{`a\n${x}`} }"},
		{"py", "@cache\ndef f(x: int) -> str: return rf\"\\\"{x}\" # c", "m{@cache}\nk{def} f{f}(x: t{int}) o{->} t{str}: k{return} s{rf\"\\\"{x}\"} c{# c}"},
		{"python", "'''a\nb''' + 'c", "s{'''a\nb'''} o{+} s{'c}"},
		{"rust", "#[derive(Debug)] fn f<'a>(c: &'a str) -> char { 'x' } r#\"a\"b\"#", "m{#[derive(Debug)]} k{fn} fo{<}'ao{>}(c: o{&}'a t{str}) o{->} t{char} { s{'x'} } s{r#\"a\"b\"#}"},
		{"java", "@Override public int f() { return \"a\"; }", "m{@Override} k{public} t{int} f{f}() { k{return} s{\"a\"}; }"},
		{"c++", "#include <a> \\\n b\nint x = u8'a'; /* c", "m{#include <a> \\\n b}\nt{int} x o{=} s{u8'a'}; c{/* c}"},
		{"sh", "A=1 go test ./... | grep -v \"x $y\" # c\nif [ $# -gt ${n} ]; then", "t{A}o{=}n{1} f{go} test ./... o{|} f{grep} -v s{\"x $y\"} c{# c}\nk{if} [ t{$#} -gt t{${n}} ]o{;} k{then}"},
		{"json", `{"a": [1, true, "b"]}`, `{f{"a"}: [n{1}, k{true}, s{"b"}]}`},
		{"yaml", "- a: 1 # c\n  b: |\n    x: y\n  \"c\": 'd'\n---", "o{-} f{a}o{:} n{1} c{# c}\n  f{b}o{:} |\ns{    x: y\n}  f{\"c\"}o{:} s{'d'}\nm{---}"},
		{"SQL", "Select count(*) from a where b = 'it''s' -- c", "k{Select} f{count}(o{*}) k{from} a k{where} b o{=} s{'it'}s{'s'} c{-- c}"},
		{"html", "<!doctype html><a b=\"c\" d=e>f<!-- g --></a><style>p{color:#fff}</style>", "m{<!doctype html>}o{<}k{a} f{b}=s{\"c\"} f{d}=s{e}o{>}f" +
			"c{<!-- g -->}o{</}k{a}o{>}o{<}k{style}o{>}k{p}{f{color}:n{#fff}}o{</}k{style}o{>}"},
		{"css", "@media x { .a > p { margin: 1.5em auto !important } } /* c", "m{@media} k{x} { .a > p { f{margin}: n{1.5em} auto k{!important} } } c{/* c}"},
		{"diff", "--- a\n+++ b\n@@ -1 +1 @@\n x\n-y\n+z", "m{--- a}\nm{+++ b}\nm{@@ -1 +1 @@}\n x\nd{-y}\na{+z}"},
		{"brainfuck", "<+>", "<+>"},
	} {
		t.Run(c.language, func(t *testing.T) {
			got := code(c.source, c.language)
			check(t, got)
			if diff := difftest.Diff(c.want, short(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCodeIsHighlightedUpTo8KB(t *testing.T) {
	line := "return 1\n"
	got := code(strings.Repeat(line, 2000), "go")
	check(t, got)
	if n := strings.Count(got, ">return<"); n != maxHighlight/len(line) {
		t.Errorf("%d lines are highlighted, not %d", n, maxHighlight/len(line))
	}
	if n := strings.Count(got, "return"); n != 2000 {
		t.Errorf("%d lines of 2000", n)
	}
}

func TestLanguage(t *testing.T) {
	for path, want := range map[string]string{
		"pricing/sum.go": "go", `C:\src\App.TSX`: "ts", "a.py": "python", "x.h": "c", "deploy.yml": "yaml", "Makefile": "", "a.unknown": "",
		"dir.go/file": "", "": "",
	} {
		if got := Language(path); got != want {
			t.Errorf("Language(%q) = %q, not %q", path, got, want)
		}
	}
}
