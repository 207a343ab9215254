// Package query is the query language: what a query means, and whether a text, a record or a signature matches it. It reads
// no files.
//
// # What a query finds
//
// A query is a list of terms. It finds an entry if every term occurs in one of the entry's texts (of the fields that were
// asked for) and no excluded term does. Letters are compared by Unicode's simple case folding unless case matters.
//
//   - word: its characters, beginning and ending at a boundary (see package word). A word may contain anything but white
//     space, so parse_header, foo-bar.go/x and 你好 are words.
//   - word*: beginning at a boundary. *part*: anywhere. *end: ending at a boundary.
//   - "a phrase": its characters, beginning and ending at a boundary; white space in it matches any white space.
//     "a phr"* and *"part of a phrase"* work as they do for words.
//   - -word, -"phrase" and so on: excluded.
//
// A quote that begins a term must be closed, and a query has at most 100 different terms. If nothing is found, the query
// can be tried again with its plain words as substrings: see Query.Substrings.
//
// A regular expression (RE2) finds an entry if it matches in one of its texts.
//
// # How it is found
//
// From coarse to fine. Query.May excludes chunks of logs by their signatures. Query.Scan looks at the undecoded bytes of the
// chunks that remain. Query.Match decides on the decoded texts. The first two never exclude an entry that matches.
package query

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Options say how the text of a query is read.
type Options struct {
	// Regexp: the text is one regular expression (RE2, see package regexp).
	Regexp bool
	// Case: case matters.
	Case bool
	// Fields are the fields to search; 0 means all.
	Fields Field
}

// Query is a parsed query. The package comment says what matches. It is safe for concurrent use.
type Query struct {
	form   Form
	opt    Options
	terms  []*term // all must occur
	nots   []*term // none may occur
	filter filter
	raw    rawQuery
}

// Form is the input of a query. It can be sent elsewhere and parsed there.
type Form struct {
	Text    string
	Options Options
	// Substrings: the query is Query.Substrings of the parsed text.
	Substrings bool
}

// Form returns the input of the query.
func (q *Query) Form() Form { return q.form }

// Query makes the query from its form.
func (f Form) Query() (*Query, error) {
	q, err := Parse(f.Text, f.Options)
	if err != nil || !f.Substrings {
		return q, err
	}
	if sub, ok := q.Substrings(); ok {
		return sub, nil
	}
	return nil, fmt.Errorf("%.40q has no plain words", f.Text)
}

// term is a part of a query.
type term struct {
	lit   *literal
	re    *regexp.Regexp // instead of lit
	tree  *syntax.Regexp // of re
	auto  *automatons    // of re
	plain bool           // a word without quotes and stars
}

// ErrEmpty is wrapped by the error for a query without a required term.
var ErrEmpty = errors.New("nothing to search for")

// mostTerms limits the different terms of a query. Each is searched in each text; a query with more was pasted by accident
// and would take minutes.
const mostTerms = 100

// Parse parses a query; see the package comment. A term that is repeated counts once.
func Parse(text string, opt Options) (*Query, error) {
	if opt.Fields == 0 {
		opt.Fields = FieldAll
	}
	q := &Query{form: Form{Text: text, Options: opt}, opt: opt}
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
		// Compared by spelling: the same word in two spellings is two terms, which only costs time.
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
		return nil, fmt.Errorf("too many terms: %d, the limit is %d", n, mostTerms)
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

// nextTerm cuts a term off a query that does not begin with a space. The term is nil if it is empty.
func nextTerm(s string, exact bool) (not bool, t *term, rest string, err error) {
	body := s
	// A minus or a star alone is a word: people search for operators.
	if len(body) > 1 && body[0] == '-' && !startsWithSpace(body[1:]) {
		not, body = true, body[1:]
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
			if phrase == "" {
				return false, nil, "", errors.New("unclosed quote at the end")
			}
			return false, nil, "", fmt.Errorf("unclosed quote before %.40q", phrase)
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
		// A word of nothing but stars is searched as it is.
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

// cutPhrase cuts at the closing quote. In a phrase \" is a quote and \\ a backslash; any other backslash stands for itself.
// closed is false if the quote is missing.
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

// Substrings returns the query with its plain words as substrings, for a query that finds nothing; ok is false if there are
// no plain words. Excluded terms stay words: -log must not exclude "catalogue".
func (q *Query) Substrings() (*Query, bool) {
	n := &Query{form: q.form, opt: q.opt, nots: q.nots}
	n.form.Substrings = true
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

// compile prepares the query for signatures and undecoded records.
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

// Terms returns the number of required terms.
func (q *Query) Terms() int { return len(q.terms) }

func (t *term) in(text string) bool {
	if t.re != nil {
		return t.auto.match(text)
	}
	start, _ := t.lit.find(text, 0)
	return start >= 0
}

// Field is the kind of a text of an entry, and a set of them.
type Field uint8

const (
	// FieldUser is text of the user.
	FieldUser Field = 1 << iota
	// FieldAssistant is text of the model.
	FieldAssistant
	// FieldTool is arguments and results of tools.
	FieldTool
	// FieldThinking is thinking of the model.
	FieldThinking
	// FieldOther is everything else: titles, labels, summaries, messages of the system and of extensions.
	FieldOther

	// FieldAll is all fields.
	FieldAll = FieldUser | FieldAssistant | FieldTool | FieldThinking | FieldOther
)

var fieldNames = [...]string{"user", "assistant", "tool", "thinking", "other"}

// ParseField returns the field with that name, also "all"; ok is false if there is none.
func ParseField(name string) (f Field, ok bool) {
	if i := slices.Index(fieldNames[:], name); i >= 0 {
		return 1 << i, true
	}
	return FieldAll, name == FieldAll.String()
}

// String returns the name of one field.
func (f Field) String() string {
	for i, name := range fieldNames {
		if f == 1<<i {
			return name
		}
	}
	return "all"
}
