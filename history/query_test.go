package history

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestSearch: every word must begin a word of the prompt; the order is newest first; the limit is clamped; nothing in a query is an
// operator.
func TestSearch(t *testing.T) {
	t.Parallel()
	h := open(t, newPath(t))
	for i, p := range []string{
		"Fix the parser", "fixtures for the lexer", "write docs", `say "hello" (twice)`, "don't use foo_bar.go", "Größe über alles", "修复解析器 now", "a\x00b",
	} {
		if err := h.Add(p, []string{"/a", "/b"}[i%2]); err != nil {
			t.Fatal(err)
		}
	}
	add(t, h)
	for query, list := range map[string][]string{
		"fix": {"fixtures for the lexer", "Fix the parser"}, "FIX the": {"fixtures for the lexer", "Fix the parser"}, "the fix pars": {"Fix the parser"},
		"ix": {}, `"hello"`: {`say "hello" (twice)`}, `hello" OR "fix`: {}, "hello AND twice": {}, "NOT": {}, "prompt:fix": {}, "fix*": {"fixtures for the lexer", "Fix the parser"},
		"NEAR(fix the)": {}, "^fix": {"fixtures for the lexer", "Fix the parser"}, "{prompt}": {}, "-": {}, `"`: {}, "fix -": {"fixtures for the lexer", "Fix the parser"},
		"foo_bar.go": {"don't use foo_bar.go"}, "bar.go": {"don't use foo_bar.go"}, "don't": {"don't use foo_bar.go"}, "grosse": {}, "grösse": {}, "größe": {"Größe über alles"},
		"uber": {"Größe über alles"}, "修复": {"修复解析器 now"}, "fix\x00the": {"Fix the parser"}, "🙂": {}, "\xff\xfe": {},
	} {
		want(t, query, texts(t, h, Query{Text: query}), list...)
	}
	want(t, "anywhere", texts(t, h, Query{Text: "析 OW", Anywhere: true}), "修复解析器 now")
	want(t, "anywhere", texts(t, h, Query{Text: `"hello" (`, Anywhere: true, CWD: "/b"}), `say "hello" (twice)`)
	want(t, "anywhere", texts(t, h, Query{Text: "GRÖSS ÜB", Anywhere: true}))
	want(t, "anywhere", texts(t, h, Query{Text: "ÖßE ÜB", Anywhere: true}), "Größe über alles")
	for _, anywhere := range []bool{false, true} {
		want(t, "very many words", texts(t, h, Query{Text: strings.Repeat("the fix pars ", 10_000), Anywhere: anywhere}), "Fix the parser")
	}
	want(t, "nowhere", texts(t, h, Query{Text: "析 %", Anywhere: true}))
	want(t, "of a directory", texts(t, h, Query{CWD: "/a", Text: "the"}), "Fix the parser")
	also := func(p Prompt) bool { return strings.HasPrefix(p.Text, "fixtures") }
	want(t, "also elsewhere", texts(t, h, Query{CWD: "/a", Also: also, Limit: 5}), "修复解析器 now", "don't use foo_bar.go", "write docs", "fixtures for the lexer", "Fix the parser")
	for limit, n := range map[int]int{-5: 1, 0: 1, 3: 3, 5000: 8} {
		list, err := h.Recent(t.Context(), limit)
		if err != nil || len(list) != n {
			t.Errorf("limit %d: %d, %v", limit, len(list), err)
		}
	}
}

// TestMost: no answer is longer than MaxLimit.
func TestMost(t *testing.T) {
	t.Parallel()
	h := open(t, newPath(t))
	for i := range MaxLimit + 50 {
		if err := h.Add(fmt.Sprint("number ", i), ""); err != nil {
			t.Fatal(err)
		}
	}
	add(t, h)
	if got := texts(t, h, Query{Text: "number", Limit: 1 << 40}); len(got) != MaxLimit || got[0] != "number 1049" {
		t.Errorf("%d prompts, the first %q", len(got), got[0])
	}
}

// TestRandom compares random histories with a slice.
func TestRandom(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		word := func() string {
			return string([]byte{'a' + byte(rnd.IntN(3)), 'a' + byte(rnd.IntN(3)), 'a' + byte(rnd.IntN(2))})
		}
		path := newPath(t)
		now := clock()
		var at time.Time
		tick := func() time.Time {
			if rnd.IntN(2) == 0 || at.IsZero() { // several in the same second
				at = now()
			}
			return at
		}
		var oracle []Prompt
		h, err := openDB(t.Context(), path, dbOptions{Clock: func() time.Time { return at }})
		if err != nil {
			t.Fatal(err)
		}
		for range 200 {
			switch rnd.IntN(30) {
			case 0:
				if err := h.Close(); err != nil {
					t.Fatal(err)
				}
				if h, err = openDB(t.Context(), path, dbOptions{Clock: func() time.Time { return at }}); err != nil {
					t.Fatal(err)
				}
			case 1, 2, 3:
				add(t, h)
				q := Query{Text: word()[:1+rnd.IntN(3)], Limit: 1 + rnd.IntN(30)}
				if rnd.IntN(2) == 0 {
					q.Text += " " + word()[:1+rnd.IntN(2)]
				}
				if rnd.IntN(3) == 0 {
					q.CWD = "/b"
				}
				want(t, fmt.Sprintf("seed %d, %+v", seed, q), texts(t, h, q), find(oracle, q)...)
			default:
				p := Prompt{Text: word(), CWD: []string{"/a", "/b"}[rnd.IntN(2)], At: tick()}
				if rnd.IntN(2) == 0 {
					p.Text += " " + word()
				}
				if err := h.Add(p.Text, p.CWD); err != nil {
					t.Fatal(err)
				}
				if n := len(oracle); n == 0 || oracle[n-1].Text != p.Text {
					oracle = append(oracle, p)
				}
			}
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// find is Search on a slice.
func find(list []Prompt, q Query) []string {
	fits := []string{}
	for i := len(list) - 1; i >= 0 && len(fits) < q.Limit; i-- { // times never decrease
		all := q.CWD == "" || list[i].CWD == q.CWD
		for _, w := range strings.Fields(q.Text) {
			all = all && slices.ContainsFunc(strings.Fields(list[i].Text), func(s string) bool { return strings.HasPrefix(s, w) })
		}
		if all {
			fits = append(fits, list[i].Text)
		}
	}
	return fits
}
