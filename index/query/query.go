package query

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Options say how the text of a query is meant.
type Options struct {
	// Regexp: the text is one regular expression (RE2, as package regexp has it), to match in one text.
	Regexp bool
	// Case: letters match in their own case only.
	Case bool
	// Fields are those that count; 0 is all.
	Fields Field
}

// Query is what to look for. The package comment says what matches. It is safe for use by several goroutines.
type Query struct {
	opt    Options
	terms  []*term // all must occur
	nots   []*term // none may
	filter filter
	raw    rawQuery
}

// term is a piece of a query that occurs in a text or does not.
type term struct {
	lit   *literal
	re    *regexp.Regexp // instead of lit
	tree  *syntax.Regexp // of re
	auto  *automatons    // the same
	plain bool           // a word without quotes and stars
}

// ErrEmpty is wrapped by the error for a query that looks for nothing.
var ErrEmpty = errors.New("nothing to search for")

// mostTerms is how many different terms a query may have. Each is looked for in each text: one with very many was pasted by
// accident, and would go on for minutes.
const mostTerms = 100

// Parse reads a query: words and "phrases", all of which must occur; word* for what begins so, *part* for what occurs
// anywhere; -word and -"phrase" for what must not occur. A term that is repeated counts once.
func Parse(text string, opt Options) (*Query, error) {
	if opt.Fields == 0 {
		opt.Fields = FieldAll
	}
	q := &Query{opt: opt}
	if opt.Regexp {
		t, err := regexpTerm(text, opt.Case)
		if err != nil {
			return nil, err
		}
		q.terms = []*term{t}
		q.compile()
		return q, nil
	}
	seen := map[string]bool{}
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimLeftFunc(rest, unicode.IsSpace) {
		not, t, after, err := nextTerm(rest, opt.Case)
		if err != nil {
			return nil, err
		}
		spelled := rest[:len(rest)-len(after)]
		// By the spelling, minus and quotes included: the same words in two forms are two terms, and that only costs time.
		again := seen[spelled]
		seen[spelled], rest = true, after
		switch {
		case t == nil || again:
		case not:
			q.nots = append(q.nots, t)
		default:
			q.terms = append(q.terms, t)
		}
	}
	if n := len(q.terms) + len(q.nots); n > mostTerms {
		return nil, fmt.Errorf("%d different terms are too many: a query has %d at most", n, mostTerms)
	}
	if len(q.terms) == 0 {
		if len(q.nots) > 0 {
			return nil, fmt.Errorf("%w: at least one term must be without a minus", ErrEmpty)
		}
		return nil, ErrEmpty
	}
	q.compile()
	return q, nil
}

// nextTerm takes a term off a query that does not begin with a space. The term is nil where nothing is in it.
func nextTerm(s string, exact bool) (not bool, t *term, rest string, err error) {
	body := s
	if len(body) > 1 && body[0] == '-' {
		// A minus or a star that stands alone is looked for like any other word: people search for operators.
		if r, _ := utf8.DecodeRuneInString(body[1:]); !unicode.IsSpace(r) {
			not, body = true, body[1:]
		}
	}
	left := true
	if len(body) > 1 && body[0] == '*' && !startsWithSpace(body[1:]) {
		left, body = false, body[1:]
	}
	t = &term{}
	right := true
	if body[0] == '"' {
		phrase, after, closed := cutPhrase(body[1:])
		if !closed {
			return false, nil, "", fmt.Errorf("the quote before %.40q is not closed", phrase)
		}
		rest = after
		if strings.HasPrefix(rest, "*") {
			right, rest = false, rest[1:]
		}
		t.lit = newLiteral(phrase, left, right, exact)
	} else {
		end := strings.IndexFunc(body, unicode.IsSpace)
		if end < 0 {
			end = len(body)
		}
		word := body[:end]
		rest = body[end:]
		// A word of nothing but stars is what is looked for.
		if cut := strings.TrimRight(word, "*"); cut != "" && cut != word {
			right, word = false, cut
		}
		t.lit = newLiteral(word, left, right, exact)
		t.plain = left && right
	}
	if t.lit == nil {
		t = nil
	}
	return not, t, rest, nil
}

func startsWithSpace(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsSpace(r)
}

// cutPhrase takes what stands before the closing quote. In a phrase \" is a quote and \\ a backslash; any other backslash
// stands for itself. closed is false where there is no such quote.
func cutPhrase(s string) (phrase, rest string, closed bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:], true
		case s[i] == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\'):
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String(), "", false
}

// Substrings gives the query in which the plain words match anywhere, for one that finds nothing as words. ok is false
// where there are none. Excluded terms stay words: who excludes "log" does not mean all that has "catalogue" in it.
func (q *Query) Substrings() (*Query, bool) {
	n := &Query{opt: q.opt, nots: q.nots}
	found := false
	for _, t := range q.terms {
		if t.plain {
			l := *t.lit
			l.left, l.right = false, false
			t = &term{lit: &l}
			found = true
		}
		n.terms = append(n.terms, t)
	}
	if !found {
		return nil, false
	}
	n.compile()
	return n, true
}

// compile makes what is asked of signatures and of undecoded records.
func (q *Query) compile() {
	for _, t := range q.terms {
		if t.lit != nil {
			q.filter.subs = append(q.filter.subs, t.lit.filter())
		} else {
			q.filter.subs = append(q.filter.subs, regexpFilter(t.tree))
		}
	}
	q.raw = newRawQuery(q.terms, q.opt.Case)
}

// Terms is how many terms must occur.
func (q *Query) Terms() int { return len(q.terms) }

func (t *term) in(text string) bool {
	if t.re != nil {
		return t.auto.match(text)
	}
	start, _ := t.lit.find(text, 0)
	return start >= 0
}
