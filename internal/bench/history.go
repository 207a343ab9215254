package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/history"
)

// prompts searches a history of very many prompts for words of which some are rare and some are not, beside looking at
// every row.
// The limits are in milliseconds, since a key press waits for the answer; they are scaled to the machine that they
// were set on.
func prompts(b *bench) error {
	count := 100_000
	if b.quick {
		count /= 10
	}
	ctx := context.Background()
	h, err := history.Open(ctx, history.Options{State: b.dir})
	if err != nil {
		return err
	}
	defer h.Close()
	list, uses := typed(count)
	if _, err := h.Import(ctx, list); err != nil {
		return err
	}
	scale, err := b.scale()
	if err != nil {
		return err
	}
	// The number of hits is checked: a search that finds less is faster.
	search := func(q history.Query, least int) (time.Duration, error) {
		return b.best(func() error {
			got, err := h.Search(ctx, q)
			if err == nil && len(got) < least {
				err = fmt.Errorf("%q: %d prompts instead of %d", q.Text, len(got), least)
			}
			return err
		})
	}
	// A directory where nothing was typed, and a filter that takes nothing: every row is looked at.
	all, err := search(history.Query{CWD: "/nowhere", Also: func(history.Prompt) bool { return false }, Limit: 1}, 0)
	if err != nil {
		return err
	}
	for _, part := range []int{1000, 100, 5} { // of how many prompts the word is in one
		word, n := frequent(uses, count/part)
		for _, limit := range []int{50, history.MaxLimit} {
			d, err := search(history.Query{Text: word, Limit: limit}, min(n, limit))
			if err != nil {
				return err
			}
			r := row{what: fmt.Sprintf("a word in %d of %d prompts, newest %d", n, count, limit), figure: ms(d),
				baseline: fmt.Sprintf("every row read %s; as on a machine with 86 MB/s", ms(all)),
				ratio:    float64(d) / 1e6 * scale, unit: "ms", target: 10, most: true}
			if n > count/100 && limit > 50 {
				r.target = 0 // fetching so many rows is most of it, and nobody waits for them
			}
			b.add(r)
		}
	}
	return nil
}

// scale is how much slower than this one the machine is that limits in seconds are meant for.
func (b *bench) scale() (float64, error) {
	_, log, err := b.session()
	if err != nil {
		return 0, err
	}
	std, err := b.encodingJSON()
	if err != nil {
		return 0, err
	}
	return speed(len(log), std) / slowJSON, nil
}

// typed makes prompts of words as unequally frequent as those of a language, and says in how many each word is.
// The exponent 1.1 is near to that of English.
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

// spell makes a word of a number. None is the beginning of another: the search is for beginnings.
// The x at the end makes no word the beginning of another.
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

// frequent gives the most frequent word that is in no more than so many prompts.
// Ties are decided by the alphabet, so that each run asks for the same word.
func frequent(uses map[string]int, most int) (word string, n int) {
	for w, k := range uses {
		if k <= most && (k > n || k == n && w < word) {
			word, n = w, k
		}
	}
	return word, n
}
