package index_test

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

// has reports whether a chunk lists all keys.
func has(c *index.Chunk, k *query.Keys) bool {
	for _, w := range k.Words {
		if !slices.Contains(c.Words, w) {
			return false
		}
	}
	for _, g := range k.Grams {
		if !slices.Contains(c.Grams, uint16(g)) {
			return false
		}
	}
	for _, any := range k.Anys {
		if !slices.ContainsFunc(any, func(k query.Keys) bool { return has(c, &k) }) {
			return false
		}
	}
	return true
}

// listed returns the one chunk of a text with its keys.
func listed(t *testing.T, text string) *index.Chunk {
	t.Helper()
	s := index.Signer{List: true}
	s.Add([]byte(text), 0, int64(len(text)))
	chunks := s.Finish()
	if len(chunks) != 1 {
		t.Fatalf("%d chunks", len(chunks))
	}
	return &chunks[0]
}

// TestListedKeys: whatever occurs in a text as a substring, or matches as an expression, has its keys listed.
func TestListedKeys(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	alphabet := []rune("aabbccdeKXYz019 _é-ßk\u212Aſ") // the last two fold to ASCII
	for range soaktest.Part(3000, 1000) {
		runes := make([]rune, 5+r.IntN(60))
		for i := range runes {
			runes[i] = alphabet[r.IntN(len(alphabet))]
		}
		from := r.IntN(len(runes) - 4)
		part := strings.TrimSpace(string(runes[from : from+4+r.IntN(len(runes)-from-3)]))
		if strings.ContainsAny(part, " _-") || part == "" {
			continue
		}
		c := listed(t, string(runes))
		for _, text := range []string{"*" + part + "*", regexp.QuoteMeta(part) + ".*"} {
			q, err := query.Parse(text, query.Options{Regexp: text[0] != '*'})
			if err != nil {
				t.Fatal(err)
			}
			if keys := q.Keys(); !has(c, &keys) {
				t.Fatalf("%q in %q: %+v are not all in %+v", text, string(runes), keys, c)
			}
		}
	}
}

// TestLongKeys: a substring is distinguished from its trigrams in other words.
func TestLongKeys(t *testing.T) {
	t.Parallel()
	c := listed(t, "the parser insert entry tree arse")
	for text, want := range map[string]bool{"*arserTre*": false, "*arser*": true, "*arse*": true, "*nsert*": true, "*sertr*": false} {
		keys := parse(t, text).Keys()
		if has(c, &keys) != want {
			t.Errorf("%s: %v, want %v", text, !want, want)
		}
	}
	long := listed(t, "xxxxParsersyyyyyyyyyyyyyyyyyyyyyyyy")
	if keys := parse(t, "*xxxparsersyyy*").Keys(); !has(long, &keys) || len(keys.Grams) > 0 {
		t.Errorf("%+v are not in %+v", keys, long)
	}
}
