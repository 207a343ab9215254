package index

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"
)

// QueryOptions say how the text of a query is meant.
type QueryOptions struct {
	// Regexp: the text is one regular expression (RE2, as package regexp has it), to match in one text.
	Regexp bool
	// Case: letters match in their own case only.
	Case bool
	// Fields are those that count; 0 is all.
	Fields Field
}

// Query is what to look for. The package comment says what matches. It is safe for use by several goroutines.
type Query struct {
	opt    QueryOptions
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
	plain bool           // a word without quotes and stars
}

// ErrEmptyQuery is wrapped by the error for a query that looks for nothing.
var ErrEmptyQuery = errors.New("nothing to search for")

// ParseQuery reads a query: words and "phrases", all of which must occur; word* for what begins so, *part* for what occurs
// anywhere; -word and -"phrase" for what must not occur.
func ParseQuery(text string, opt QueryOptions) (*Query, error) {
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
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimLeftFunc(rest, unicode.IsSpace) {
		var not bool
		var t *term
		not, t, rest = nextTerm(rest, opt.Case)
		switch {
		case t == nil:
		case not:
			q.nots = append(q.nots, t)
		default:
			q.terms = append(q.terms, t)
		}
	}
	if len(q.terms) == 0 {
		if len(q.nots) > 0 {
			return nil, fmt.Errorf("%w: at least one term must be without a minus", ErrEmptyQuery)
		}
		return nil, ErrEmptyQuery
	}
	q.compile()
	return q, nil
}

// nextTerm takes a term off a query that does not begin with a space. The term is nil where nothing is in it.
func nextTerm(s string, exact bool) (not bool, t *term, rest string) {
	body := s
	if len(body) > 1 && body[0] == '-' {
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
		var phrase string
		phrase, rest = cutPhrase(body[1:])
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
		if cut := strings.TrimRight(word, "*"); cut != "" && cut != word {
			right, word = false, cut
		}
		t.lit = newLiteral(word, left, right, exact)
		t.plain = left && right
	}
	if t.lit == nil {
		return not, nil, rest
	}
	return not, t, rest
}

func startsWithSpace(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsSpace(r)
}

// cutPhrase takes what stands before the closing quote. In a phrase \" is a quote and \\ a backslash; any other backslash
// stands for itself. A phrase that is not closed ends with the query.
func cutPhrase(s string) (phrase, rest string) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:]
		case s[i] == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\'):
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String(), ""
}

// Substrings gives the query in which the plain words match anywhere, for one that finds nothing as words. ok is false
// where there are none.
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
		return t.re.MatchString(text)
	}
	start, _ := t.lit.find(text, 0)
	return start >= 0
}
