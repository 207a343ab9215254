package query

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// naive is the specification of find: it tries each position.
func (l *literal) naive(text string, from int) (int, int) {
	for i := from; i < len(text); i++ {
		if !l.first[text[i]] {
			continue
		}
		if end, _ := l.at(text, i); end >= 0 && !(l.left && !boundary(text, i)) && !(l.right && !boundary(text, end)) {
			return i, end
		}
	}
	return -1, -1
}

// TestLinear: the linear search finds the same as one that tries each position.
func TestLinear(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	letters := []string{"a", "a", "a", "b", "A", " ", "\n ", "ä", "Ä", "\u212a", "k", "ſ", "s", "\xff", "\xc3", "\ufffd", ".", "\u2003"}
	some := func(most int) string {
		var b strings.Builder
		kinds := 1 + r.IntN(len(letters))
		for range r.IntN(most) {
			b.WriteString(letters[r.IntN(kinds)])
		}
		return b.String()
	}
	found := 0
	for range 100_000 {
		text, words := some(40), some(6)
		l := newLiteral(words, r.IntN(2) == 0, r.IntN(2) == 0, r.IntN(2) == 0)
		if l == nil {
			continue
		}
		start, end := l.naive(text, 0)
		if gotStart, gotEnd := l.linear(text, 0); gotStart != start || gotEnd != end {
			t.Fatalf("%q in %q (%v, %v, exact %v) is at %d to %d, not at %d to %d", words, text, l.left, l.right, l.exact, gotStart, gotEnd, start, end)
		}
		if start >= 0 {
			found++
		}
	}
	if found < 1000 {
		t.Errorf("only %d of the texts were found", found)
	}
}

// TestRepetitive: a text that repeats the beginning of a long literal is searched in linear time. Trying each position would take minutes.
func TestRepetitive(t *testing.T) {
	const n = 1 << 20
	for name, test := range map[string]struct{ text, words string }{
		"letters": {strings.Repeat("a", n) + "b", strings.Repeat("a", n/4) + "b"},
		"words":   {strings.Repeat("a ", n) + "b", strings.Repeat("a ", n/4) + "b"},
		"not":     {strings.Repeat("a", n) + "b", strings.Repeat("a", n/4) + "c"},
		"within":  {strings.Repeat("a", n) + " b", strings.Repeat("a", n/4)},
	} {
		l := newLiteral(test.words, name == "within", name == "within", false)
		start, end := l.find(test.text, 0)
		if want := name == "letters" || name == "words"; (start >= 0) != want || want && (end != len(test.text) || end-start != len(test.words)) {
			t.Errorf("%s: found from %d to %d", name, start, end)
		}
	}
}
