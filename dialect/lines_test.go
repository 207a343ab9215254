package dialect

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestHasBreak compares the search with two plain searches for the characters, in texts full of characters that begin alike.
func TestHasBreak(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	pieces := []string{"a", "–", "…", "’", "⠨", "€", "\xe2", "\x80", "\xa8", "\xe2x\xa9", "∩"}
	found := 0
	for range 20_000 {
		var line []byte
		for range random.IntN(60) {
			line = append(line, pieces[random.IntN(len(pieces))]...)
		}
		if random.IntN(2) == 0 {
			at := random.IntN(len(line) + 1)
			line = bytes.Join([][]byte{line[:at], line[at:]}, []byte([]string{"\u2028", "\u2029"}[random.IntN(2)]))
		}
		want := bytes.Contains(line, []byte("\u2028")) || bytes.Contains(line, []byte("\u2029"))
		if got := HasBreak(line); got != want {
			t.Fatalf("%q: %v, want %v", line, got, want)
		}
		if want {
			found++
		}
	}
	if found < 1000 {
		t.Errorf("only %d lines have a break", found)
	}
}
