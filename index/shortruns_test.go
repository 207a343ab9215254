package index

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/index/word"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

// TestShortRuns: the fast path for runs makes the same keys as the general one.
func TestShortRuns(t *testing.T) {
	t.Parallel()
	words := []string{
		"a", "I", "of", "OK", "x1", "aB", "toString", "isX", "userID", "JSONValue", "ABc", "the", "THE", "2024", "0", "fmt",
		"sixteen16letters", "seventeen17letter", "anIdentifierThatIsLongerThanSixteenBytes", "aBCDEFGHIJKLMNop",
		"aBcDeFgHiJkLmNo", "aBcDeFgHiJkLmNoP", // as many humps as count, and one more
		"größe", "Straße", "naïve", "K", "ſ", "日本語", "語a", "aé", "éA", "a\u00a0b", "\u3000", "—", "🙂", "\xff", "a\xe2", "ǅ",
	}
	gaps := []string{" ", " ", " ", "", "\n", "\n\t\t", ", ", ".", "_", "  ", " \u00a0", "\u2003", "-\n", " (", "\x00"}
	rnd := rand.New(rand.NewPCG(3, 4))
	for round := range soaktest.Part(2000, 600) {
		var text []byte
		for range rnd.IntN(60) {
			text = append(text, gaps[rnd.IntN(len(gaps))]...)
			text = append(text, words[rnd.IntN(len(words))]...)
		}
		var fast, slow Signer
		fast.sign(text)
		var last trail
		for from, to := 0, 0; to <= len(text); to++ {
			if to < len(text) && (text[to] >= utf8.RuneSelf || word.ClassOf(text[to])&word.ASCII != 0) {
				continue
			}
			if from < to {
				last = slow.anyRun(text, from, to, last)
			}
			from = to + 1
		}
		if want, got := keysOf(&slow), keysOf(&fast); !reflect.DeepEqual(want, got) {
			t.Fatalf("round %d: %q: %s", round, text, difftest.Diff(want, got))
		}
	}
}

// keysOf returns what a signer has collected, in an order that does not depend on the input's order.
func keysOf(s *Signer) []any {
	s.fill(make([]byte, twoSize), make([]byte, blockSize)) // fill completes the bigrams
	slices.Sort(s.words)
	slices.Sort(s.grams)
	return []any{s.words, s.grams, s.ascii, s.two, s.flags}
}
