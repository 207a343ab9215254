package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/history"
)

// prompts searches a history of many prompts for rare and common words, beside reading every row. The limits are in
// milliseconds, since a key press waits for the answer; they are scaled to the machine on which they were set.
func prompts(b *bench) {
	count, ctx := b.size(100_000), context.Background()
	h := must(history.Open(ctx, history.Options{State: b.dir}))
	defer h.Close()
	list, uses := typed(count)
	must(h.Import(ctx, list))
	scale := b.scale()
	// The number of hits is checked: a search that finds less is faster.
	search := func(q history.Query, least int) time.Duration {
		return b.best(func() {
			if got := must(h.Search(ctx, q)); len(got) < least {
				check(fmt.Errorf("%q: %d prompts instead of %d", q.Text, len(got), least))
			}
		})
	}
	// Nothing was typed in this directory, and the filter selects nothing: every row is read.
	all := search(history.Query{CWD: "/nowhere", Also: func(history.Prompt) bool { return false }, Limit: 1}, 0)
	for _, part := range []int{1000, 100, 5} { // the word is in one of so many prompts
		word, n := frequent(uses, count/part)
		for _, limit := range []int{50, history.MaxLimit} {
			d := search(history.Query{Text: word, Limit: limit}, min(n, limit))
			r := row{what: fmt.Sprintf("a word in %d of %d prompts, newest %d", n, count, limit), figure: ms(d),
				baseline: fmt.Sprintf("every row read %s; as on a machine with 86 MB/s", ms(all)),
				ratio:    float64(d) / 1e6 * scale, unit: "ms", target: 10, most: true}
			if n > count/100 && limit > 50 {
				r.target = 0 // fetching so many rows is most of the time
			}
			b.add(r)
		}
	}
}

// typed makes prompts from words with the frequencies of a language (the exponent of English is about 1.1), and counts the
// prompts of each word.
func typed(count int) (list []history.Prompt, uses map[string]int) {
	rnd := rand.New(rand.NewPCG(5, 5))
	words := rand.NewZipf(rnd, 1.1, 20, 20_000)
	uses = map[string]int{}
	for i := range count {
		var text []string
		seen := map[string]bool{}
		for range 4 + rnd.IntN(30) {
			w := spell(words.Uint64())
			text = append(text, w)
			if !seen[w] {
				seen[w] = true
				uses[w]++
			}
		}
		list = append(list, history.Prompt{
			Text: strings.Join(text, " "), CWD: fmt.Sprintf("/src/project%d", rnd.IntN(30)), At: time.Unix(1_700_000_000+int64(i)*60, 0),
		})
	}
	return list, uses
}

// spell makes a word from a number. The x at the end keeps a word from being a prefix of another.
func spell(n uint64) string {
	const syllables = "kataminoruveposilade"
	var b strings.Builder
	for {
		b.WriteString(syllables[2*(n%10):][:2])
		if n /= 10; n == 0 {
			return b.String() + "x"
		}
	}
}

// frequent returns the most frequent word that is in at most so many prompts. Ties are resolved alphabetically, so that each run uses the
// same word.
func frequent(uses map[string]int, most int) (word string, n int) {
	for w, k := range uses {
		if k <= most && (k > n || k == n && w < word) {
			word, n = w, k
		}
	}
	return word, n
}
