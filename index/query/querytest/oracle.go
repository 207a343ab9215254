// Package querytest has an oracle for what a query finds, for tests that compare, and makes random queries and texts that often match. The
// oracle follows the comment of package query and shares no code with it: it makes lists of characters and tries every position.
package querytest

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/treeline-dev/treeline/index/query"
)

// Term is a word or a phrase.
type Term struct {
	Body        string
	Left, Right bool // there must be a boundary at the beginning, and at the end
	Not         bool
}

// Query is a query in its parts.
type Query struct {
	Terms  []Term
	Regexp *regexp.Regexp // instead of Terms
	Case   bool
	Fields query.Field
}

// Text spells the query as a user would.
func (q Query) Text() string {
	var parts []string
	for _, t := range q.Terms {
		s := t.Body
		if t.quoted() {
			s = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
		}
		if !t.Left {
			s = "*" + s
		}
		if !t.Right {
			s += "*"
		}
		if t.Not {
			s = "-" + s
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, " ")
}

// quoted reports whether the term can be spelled only in quotes.
func (t Term) quoted() bool {
	return strings.ContainsFunc(t.Body, unicode.IsSpace) || strings.ContainsAny(t.Body, `"*`) || strings.HasPrefix(t.Body, "-")
}

// Substrings returns the query with its plain words as substrings; ok is false if it has none.
func (q Query) Substrings() (sub Query, ok bool) {
	terms := q.Terms
	q.Terms = nil
	for _, t := range terms {
		if t.Left && t.Right && !t.Not && !t.quoted() {
			t.Left, t.Right = false, false
			ok = true
		}
		q.Terms = append(q.Terms, t)
	}
	return q, ok
}

// Matches reports whether an entry with these texts is found.
func (q Query) Matches(texts []query.Text) bool {
	occurs := func(f func(string) bool) bool {
		for _, t := range texts {
			if t.Field&q.Fields != 0 && f(t.Text) {
				return true
			}
		}
		return false
	}
	if q.Regexp != nil {
		return occurs(q.Regexp.MatchString)
	}
	for _, t := range q.Terms {
		if occurs(func(s string) bool { return q.occursIn(t, []rune(s)) }) == t.Not {
			return false
		}
	}
	return true
}

// occursIn tries every position. White space of the term matches any amount of it.
func (q Query) occursIn(t Term, text []rune) bool {
	bounds := boundaries(text)
	var at func(want []rune, i int) bool
	at = func(want []rune, i int) bool {
		if len(want) == 0 {
			return !t.Right || bounds[i]
		}
		if i == len(text) {
			return false
		}
		if unicode.IsSpace(want[0]) {
			return unicode.IsSpace(text[i]) && (at(want, i+1) || at(want[1:], i+1))
		}
		return alike(want[0], text[i], q.Case) && at(want[1:], i+1)
	}
	want := []rune(strings.Join(strings.Fields(t.Body), " "))
	for i := range text {
		if (!t.Left || bounds[i]) && at(want, i) {
			return true
		}
	}
	return false
}

func alike(a, b rune, exact bool) bool {
	return a == b || !exact && strings.EqualFold(string(a), string(b))
}

// boundaries reports for each position of a text, its end included, whether it is a boundary.
func boundaries(text []rune) []bool {
	inRun := func(r rune) bool {
		for _, script := range []string{"Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar", "Tibetan",
			"Bopomofo", "Yi", "Javanese", "Balinese", "Tai_Le", "New_Tai_Lue", "Tai_Tham", "Tai_Viet"} {
			if unicode.Is(unicode.Scripts[script], r) {
				return false
			}
		}
		if strings.ContainsRune("ー々〆ｰ\u20e3", r) || unicode.Is(unicode.Variation_Selector, r) {
			return false
		}
		return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
	}
	bounds := make([]bool, len(text)+1)
	bounds[0], bounds[len(text)] = true, true
	for start := 0; start < len(text); {
		if !inRun(text[start]) {
			bounds[start], bounds[start+1] = true, true
			start++
			continue
		}
		end := start
		for end < len(text) && inRun(text[end]) {
			end++
		}
		bounds[start], bounds[end] = true, true
		var humps []int
		for i := start + 1; i < end; i++ {
			camel := unicode.IsLower(text[i-1]) && unicode.IsUpper(text[i])
			acronym := unicode.IsUpper(text[i-1]) && unicode.IsUpper(text[i]) && i+1 < end && unicode.IsLower(text[i+1])
			if camel || acronym {
				humps = append(humps, i)
			}
		}
		if end-start <= 64 && len(humps)+1 <= 8 {
			for _, i := range humps {
				bounds[i] = true
			}
		}
		start = end
	}
	return bounds
}
