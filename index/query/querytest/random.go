package querytest

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"unicode"

	"github.com/treeline-dev/treeline/index/query"
)

// pieces of random texts and queries, with many odd characters and boundaries.
var pieces = []string{
	"parse", "Header", "HTTP", "parseHeader", "HTTPHeader", "parse_header", "foo-bar.go/x", "getURLs", "utf8", "x1y2", "a", "K", "s", "Kelvin", "\u212a", "ſ",
	"strasse", "Straße", "STRASSE", "ẞ", "é", "e\u0301", "É", "Привет", "ПРИВЕТ", "ΣΊΣΥΦΟΣ", "σίσυφος", "ǅ", "ü", "İ", "ı",
	"你好", "世界", "你", "カタカナ", "ー", "ไทย", "한국어", "👍", "👍🏽", "❤️", "→", "—", "…", "\u00a0", "\ufffd",
	"_", "-", ".", "/", ":", "\"", "\\", "<b>", "&", "'", "\n", "\t", " ", "  ", " ", " ", "\x1b[31m", "the", "word", "words", "sword", "42", "1024", "deadBEEF",
	"aBcDeFgHiJkLmNoPqRsTuVwXyZ", strings.Repeat("longRun", 10), strings.Repeat("x", 70), `\u0041`, `\n`, "C:\\users\\x", "nfoo", "foo",
	"in", "or", "checkIn", "onTop", "isA", "aB", "Éa", "zq", " — ", "\u2003", "\u001b",
}

// RandomText makes a text of up to most pieces.
func RandomText(r *rand.Rand, most int) string {
	var b strings.Builder
	for range r.IntN(most + 1) {
		b.WriteString(pieces[r.IntN(len(pieces))])
		if r.IntN(3) == 0 {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// Random makes a query. It takes terms from the texts, so that many match, or invents them.
func Random(r *rand.Rand, texts []query.Text) Query {
	q := Query{Case: r.IntN(4) == 0, Fields: query.FieldAll}
	if r.IntN(4) == 0 {
		q.Fields = 1 << r.IntN(5)
	}
	for n := 1 + r.IntN(3); n > 0; n-- {
		var body []rune
		if len(texts) > 0 && r.IntN(4) > 0 {
			text := []rune(texts[r.IntN(len(texts))].Text)
			if len(text) > 0 {
				i := r.IntN(len(text))
				body = text[i:min(len(text), i+1+r.IntN(12))]
			}
		} else {
			body = []rune(pieces[r.IntN(len(pieces))])
		}
		body = []rune(strings.TrimSpace(string(body)))
		if !q.Case && r.IntN(3) == 0 {
			for i := range body {
				body[i] = unicode.SimpleFold(body[i])
			}
		}
		if len(strings.TrimSpace(string(body))) == 0 {
			continue
		}
		q.Terms = append(q.Terms, Term{Body: string(body), Left: r.IntN(3) > 0, Right: r.IntN(3) > 0, Not: len(q.Terms) > 0 && r.IntN(4) == 0})
	}
	if r.IntN(5) == 0 && len(q.Terms) > 0 {
		q.Regexp = randomRegexp(r, q)
		q.Terms = nil
	}
	return q
}

func randomRegexp(r *rand.Rand, q Query) *regexp.Regexp {
	part := func() string {
		body := q.Terms[r.IntN(len(q.Terms))].Body
		s := regexp.QuoteMeta(body)
		switch r.IntN(7) {
		case 0:
			return s + "?"
		case 1:
			return "(" + s + ")+"
		case 2:
			return "(?:" + s + "|" + regexp.QuoteMeta(pieces[r.IntN(len(pieces))]) + ")"
		case 3:
			return s + `\w*`
		case 4:
			return `\b` + s
		case 5:
			return classesOf(body)
		}
		return s
	}
	text := part()
	if r.IntN(2) == 0 {
		text += ".*" + part()
	}
	if !q.Case {
		text = "(?i:" + text + ")"
	}
	return regexp.MustCompile(text)
}

// classesOf makes an expression without a literal that matches a text.
func classesOf(body string) string {
	var b strings.Builder
	for _, r := range body {
		switch {
		case unicode.IsLetter(r):
			b.WriteString(`\pL`)
		case unicode.IsNumber(r):
			b.WriteString(`\pN`)
		case unicode.IsSpace(r):
			b.WriteString(`[\pZ\s]`)
		default:
			b.WriteString(`(?s:.)`)
		}
	}
	return b.String()
}
