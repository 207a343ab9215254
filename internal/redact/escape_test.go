package redact

import "testing"

// TestSpelledOut: only escapes that JSON does not need are removed.
func TestSpelledOut(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`"a"`:                    `"a"`,
		`"\u0041\/b"`:            `"A/b"`,
		`"\\u0041\\\u0041"`:      `"\\u0041\\A"`,
		`"\ud83d\ude00 \ud83d"`:  `"😀 \ud83d"`,
		`"\ud83d\u0041"`:         `"\ud83d` + `A"`,
		`"\u0022\u005c\u000a\n"`: `"\u0022\u005c\u000a\n"`,
		`"\u00`:                  `"\u00`,
		`"\`:                     `"\`,
		`"\uzzzz\u00e9"`:         `"\uzzzzé"`,
	} {
		if got := SpelledOut(in); got != want {
			t.Errorf("%s became %s, not %s", in, got, want)
		}
	}
}
