package markup

import "testing"

func TestWords(t *testing.T) {
	for in, want := range map[string]string{
		"All amounts are `int64` cents.\n\n- **x** is _new_": "All amounts are int64 cents. x is new",
		"# Plan\n1. Make ~~it~~ [a list](https://x.y)":       "Plan Make it a list",
		"snake_case and 3*4*5 and \\*stars\\*":               "snake_case and 345 and *stars*",
		"```go\nfunc main() {}\n```\nand `a\\*b`":            "func main() {} and a\\*b",
		"a < b && c, <b>not bold</b>, <https://x.y>":         "a < b && c, <b>not bold</b>, https://x.y",
		"| a | b |\n|---|---|\n| 1 | `2` |":                  "a b 1 2",
		"**cut in the mid":                                   "**cut in the mid",
		"":                                                   "",
	} {
		if got := Words(in, 1000); got != want {
			t.Errorf("%q: %q, not %q", in, got, want)
		}
	}
	if got := Words("one two three", 8); got != "one two" {
		t.Errorf(`%q; want got == "one two"`, got)
	}
}
