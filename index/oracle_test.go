package index

import (
	"regexp"
	"strings"
	"unicode"
)

// The oracle says what the package comment says, in the plainest way and with nothing of the package's own code: it makes
// lists of characters and tries every place.

type oracleTerm struct {
	body        string // of a word or phrase
	left, right bool   // boundaries
	not         bool
}

type oracleQuery struct {
	terms  []oracleTerm
	re     *regexp.Regexp
	exact  bool
	fields Field
}

// text spells the query as a user would.
func (q oracleQuery) text() string {
	var parts []string
	for _, t := range q.terms {
		s := t.body
		if strings.ContainsFunc(s, unicode.IsSpace) || strings.ContainsAny(s, `"*`) || strings.HasPrefix(s, "-") {
			s = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
		}
		if !t.left {
			s = "*" + s
		}
		if !t.right {
			s += "*"
		}
		if t.not {
			s = "-" + s
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, " ")
}

func (q oracleQuery) matches(texts []Text) bool {
	occurs := func(f func(string) bool) bool {
		for _, t := range texts {
			if t.Field&q.fields != 0 && f(t.Text) {
				return true
			}
		}
		return false
	}
	if q.re != nil {
		return occurs(q.re.MatchString)
	}
	for _, t := range q.terms {
		if occurs(func(s string) bool { return q.occursIn(t, []rune(s)) }) == t.not {
			return false
		}
	}
	return true
}

// occursIn tries every place. Each white space of the term takes any number of them.
func (q oracleQuery) occursIn(t oracleTerm, text []rune) bool {
	bounds := oracleBoundaries(text)
	var at func(want []rune, i int) bool
	at = func(want []rune, i int) bool {
		if len(want) == 0 {
			return !t.right || bounds[i]
		}
		if i == len(text) {
			return false
		}
		if unicode.IsSpace(want[0]) {
			return unicode.IsSpace(text[i]) && (at(want, i+1) || at(want[1:], i+1))
		}
		return oracleSame(want[0], text[i], q.exact) && at(want[1:], i+1)
	}
	want := []rune(strings.Join(strings.Fields(t.body), " "))
	for i := range text {
		if (!t.left || bounds[i]) && at(want, i) {
			return true
		}
	}
	return false
}

func oracleSame(a, b rune, exact bool) bool {
	return a == b || !exact && strings.EqualFold(string(a), string(b))
}

// oracleBoundaries says for each place of a text, its end included, whether it is a boundary.
func oracleBoundaries(text []rune) []bool {
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
