package pi

import (
	"bytes"
	"testing"
)

// A word is found at any place, and only where it is.
func TestHas(t *testing.T) {
	for _, w := range []struct {
		word string
		rare byte
	}{{"partialJson", 'J'}, {"jsonlEvents", 'E'}, {"image", 'g'}} {
		for _, text := range []string{
			"", w.word, "x" + w.word, w.word + "x", w.word[1:], w.word[:len(w.word)-1], string(w.rare), string(w.rare) + w.word,
			w.word[:len(w.word)-1] + w.word, "ggJJEE", "gimag imageg", "partialJsonlEvents",
		} {
			if got, want := has([]byte(text), w.word, w.rare), bytes.Contains([]byte(text), []byte(w.word)); got != want {
				t.Errorf("%q in %q: %v", w.word, text, got)
			}
		}
	}
}
