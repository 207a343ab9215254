package history

import "testing"

// FuzzSearchNeverFails: any input is a query, and a prompt is found by its whole text. (Which characters beyond ASCII are letters depends
// on the Unicode version.)
func FuzzSearchNeverFails(f *testing.F) {
	for _, s := range []string{`"`, `a"b`, "NEAR(a b)", "a AND OR NOT", "x* ^y", "{a}: b", "\x00", "\xff", "修复 🙂", "a\u0301", "-", "''", "a\x00\"b"} {
		f.Add(s)
	}
	h := open(f, newPath(f))
	add(f, h, "one", `"quoted" words`)
	f.Fuzz(func(t *testing.T, query string) {
		if _, err := h.Search(t.Context(), Query{Text: query, Limit: 5}); err != nil {
			t.Fatalf("%q: %v", query, err)
		}
		p, err := h.Import(t.Context(), []Prompt{{Text: query}})
		if err != nil {
			t.Fatalf("%q: %v", query, err)
		}
		if got := texts(t, h, Query{Text: query}); p.Added == 1 && isWords(query) && len(got) == 0 {
			t.Errorf("%q does not find itself", query)
		}
	})
}

// isWords reports whether a text is ASCII and has a letter.
func isWords(s string) bool {
	letter := false
	for _, c := range []byte(s) {
		if c >= 0x80 {
			return false
		}
		letter = letter || c >= 'a' && c <= 'z'
	}
	return letter
}
