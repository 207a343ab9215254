package query_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/index/query/querytest"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

func TestMain(m *testing.M) { os.Exit(soaktest.Main(m)) }

// record spells texts as a record, in one of the ways in which programs write JSON.
func record(r *rand.Rand, texts []query.Text) []byte {
	way := r.IntN(4)
	var b strings.Builder
	b.WriteString(`{"id":"deadbeef","texts":[`)
	for i, t := range texts {
		if i > 0 {
			b.WriteByte(',')
		}
		switch way {
		case 0: // as Go does: <, > and & escaped
			s, _ := json.Marshal(t.Text)
			b.Write(s)
			continue
		case 3: // JSON inside a string
			s, _ := json.Marshal(t.Text)
			s, _ = json.Marshal(string(s))
			b.Write(s)
			continue
		}
		b.WriteByte('"')
		for _, c := range t.Text {
			switch {
			case c == '"' || c == '\\':
				b.WriteString(`\` + string(c))
			case c == '\n':
				b.WriteString(`\n`)
			case c < ' ', way == 1 && c > 126, way == 2 && r.IntN(8) == 0:
				for _, u := range utf16.Encode([]rune{c}) {
					fmt.Fprintf(&b, `\u%04x`, u)
				}
			default:
				b.WriteRune(c)
			}
		}
		b.WriteByte('"')
	}
	b.WriteString(`]}`)
	return []byte(b.String())
}

// rounds returns how often a random test runs: many times if TREELINE_SOAK is set.
func rounds(usual, many int) int {
	if os.Getenv("TREELINE_SOAK") != "" {
		return many
	}
	return usual
}

// TestFindsWhatTheOracleFinds compares random queries on random entries with the oracle, and checks that neither the
// signature nor the undecoded record excludes a match.
func TestFindsWhatTheOracleFinds(t *testing.T) {
	t.Parallel()
	c := soaktest.Begin(t)
	r := rand.New(rand.NewPCG(c.Seed(5), 7))
	found, n := 0, 0
	for range c.Rounds(soaktest.Part(8_000, 3_000), 8_000) {
		n++
		var texts []query.Text
		for range 1 + r.IntN(3) {
			texts = append(texts, query.Text{Field: 1 << r.IntN(5), Text: querytest.RandomText(r, 8)})
		}
		if checkQuery(t, r, texts, querytest.Random(r, texts)) {
			found++
		}
	}
	if found < n/5 {
		t.Errorf("only %d queries found something: the test is too weak", found)
	}
}

// checkQuery compares one query on one entry with the oracle, and returns whether it matches.
func checkQuery(t *testing.T, r *rand.Rand, texts []query.Text, o querytest.Query) bool {
	t.Helper()
	opt, text := query.Options{Case: o.Case, Fields: o.Fields}, o.Text()
	if o.Regexp != nil {
		opt.Regexp, opt.Case, text = true, true, o.Regexp.String() // the expression itself contains whether case matters
	}
	if o.Regexp == nil && (len(o.Terms) == 0 || o.Terms[0].Not) {
		return false
	}
	q, err := query.Parse(text, opt)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	want := o.Matches(texts)
	m, got := q.Match(texts)
	if got != want {
		t.Fatalf("query %q (case %v, fields %b) in %q: %v, want %v", text, o.Case, o.Fields, texts, got, want)
	}
	if !got {
		return false
	}
	for _, mark := range m.Marks {
		if mark[0] > mark[1] || mark[1] > len(texts[m.Text].Text) {
			t.Fatalf("query %q: mark %v in %q", text, mark, texts[m.Text].Text)
		}
	}
	var s index.Signer
	for _, x := range texts {
		s.Add([]byte(x.Text), 10, 20)
	}
	chunk := s.Finish()[0]
	if !q.May(kept(chunk)) {
		t.Fatalf("query %q (case %v): the signature of %q says that it cannot match", text, o.Case, texts)
	}
	data := append(append([]byte(`{"other":1}`+"\n"), record(r, texts)...), "\n{\"last\":true}"...)
	line := false
	q.Scan(data, chunk.Odd(), func(from, to int) bool {
		line = line || from == len(`{"other":1}`)+1
		return true
	})
	if !line {
		t.Fatalf("query %q (case %v): passed over %s", text, o.Case, data)
	}
	return true
}

// TestPhrasesOfShortWords: the signature and the undecoded record distinguish a phrase from the same words in another order,
// also for common and short words and for humps.
func TestPhrasesOfShortWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		query, text string
		want        bool
	}{
		{`"in or on"`, "it is in or on it", true},
		{`"in or on"`, "checkIn or onTop", true},
		{`"in or on"`, "in\n\u2003or \t on", true},
		{`"in on"`, "checkIn onTop", true},
		{`"a b"`, "isA bC", true},
		{`"in or on"`, "or in, on or in; in on or", false},
		{`"in or on"`, "in or — on", false},
		{`"in or on"`, "contain or on", false},
		{`"in or on"`, "in or once", false},
		{`"in or on"`, "\u001bin\u001bor\u001bon", false},
		{`*"in or on"*`, "contain or once", true},
		{"zq", "za aq qz", false},
		{"*zq*", "pizzqueen", true},
		{"*ka*", "\u212aa", true},
		{`"n foo"`, `split on \n foo`, true}, // the text has a backslash, which is two in the record
		{`"n foo bar"`, `\n foo bar`, true},
		{`"on foo"`, "on\nfoo", true},
	} {
		q, texts := parse(t, c.query), []query.Text{{Field: query.FieldUser, Text: c.text}}
		if _, ok := q.Match(texts); ok != c.want {
			t.Errorf("%s in %q: %v", c.query, c.text, ok)
		}
		var s index.Signer
		s.Add([]byte(c.text), 0, 1)
		sig := kept(s.Finish()[0])
		rec, err := json.Marshal(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if raw := q.MayRecord(rec); raw != c.want {
			t.Errorf("%s in the record %s: %v", c.query, rec, raw)
		}
		if may := q.May(sig); c.want && !may {
			t.Errorf("%s: held back by the signature of %q", c.query, c.text)
		}
	}
	var s index.Signer
	s.Add([]byte(strings.Repeat("or in, on or in; in on or. ", 3)+strings.Repeat("some other words, too; ", 40)), 0, 1)
	sig := kept(s.Finish()[0])
	for _, text := range []string{`"on in or"`, `"in or on or"`, "*zq*"} {
		if parse(t, text).May(sig) {
			t.Errorf("%s passes a signature without it", text)
		}
	}
}

func TestParseQuery(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":           query.ErrEmpty.Error(),
		"  \t ":      query.ErrEmpty.Error(),
		`""`:         query.ErrEmpty.Error(),
		"-foo":       "nothing to search for: at least one term must be without a minus",
		"foo -bar":   "",
		"-":          "",
		"*":          "",
		`"`:          `unclosed quote at the end`,
		`a -"`:       `unclosed quote at the end`,
		`"open`:      `unclosed quote before "open"`,
		`a -"open b`: `unclosed quote before "open b"`,
		`5" disk`:    "",
		`"a \" b" c`: "",
		"foo*":       "",
		"*foo*":      "",
	} {
		_, err := query.Parse(text, query.Options{})
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: error %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{`\Qf(x`, `foo|\Qa)b`} { // a quotation without an end extends to the end of the expression
		q, err := query.Parse(text, query.Options{Regexp: true})
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if _, ok := q.Match([]query.Text{{Field: query.FieldUser, Text: "F(X A)B"}}); !ok {
			t.Errorf("%s does not match", text)
		}
	}
	_, err := query.Parse("a)(b", query.Options{Regexp: true})
	if want := `invalid regular expression: unexpected ): "a)(b"`; err == nil || err.Error() != want {
		t.Errorf("an invalid expression: error %v, want %s", err, want)
	}
}

// TestManyTerms: a query that was pasted by accident is refused, unless it repeats its terms.
func TestManyTerms(t *testing.T) {
	t.Parallel()
	q, err := query.Parse(strings.Repeat("frog ", 10_000)+`"frog" -toad -toad`, query.Options{})
	if err != nil || q.Terms() != 2 {
		t.Fatalf("%v, %v; want no error, q.Terms() == 2", q, err)
	}
	var many strings.Builder
	for i := range 10_000 {
		fmt.Fprint(&many, "w", i, " ")
	}
	_, err = query.Parse(many.String(), query.Options{})
	if want := "too many terms: 10000, the limit is 100"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestMatchExamples(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		query, text string
		want        bool
	}{
		{"header", "parse_header", true},
		{"header", "parseHeader", true},
		{"header", "HTTPHeader", true},
		{"header", "headers", false},
		{"header*", "myHeaders", true},
		{"arseHead", "parseHeader", false},
		{"*arseHead*", "parseHeader", true},
		{"parseheader", "x.parseHeader()", true},
		{`"two words"`, "two \n\twords", true},
		{`"two words"`, "two wordsmiths", false},
		{`"two words"*`, "two wordsmiths", true},
		{"你好", "他说你好吗", true},
		{"好", "你好", true},
		{"foo_bar-baz.go/x", "in foo_bar-baz.go/x:12", true},
		{"bar-baz.go", "foo_bar-baz.go/x", true},
		{"👍", "ok👍🏽", true},
		{"strasse", "STRASSE", true},
		{"a b", "b a", true},
		{"a -b", "a b", false},
		{`a -"b c"`, "a b d", true},
		{"HEADER", "header", true},
	} {
		q, err := query.Parse(c.query, query.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, got := q.Match([]query.Text{{query.FieldUser, c.text}}); got != c.want {
			t.Errorf("%q in %q: %v, want %v", c.query, c.text, got, c.want)
		}
	}
}

func TestSubstrings(t *testing.T) {
	t.Parallel()
	q, err := query.Parse(`arseHead "a phrase"`, query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sub, ok := q.Substrings()
	if !ok {
		t.Fatal("no substrings of a plain word")
	}
	if _, ok := sub.Match([]query.Text{{query.FieldUser, "parseHeader is a phrase"}}); !ok {
		t.Error("the word is not found as a substring")
	}
	if _, ok := sub.Match([]query.Text{{query.FieldUser, "parseHeader is a phrasebook"}}); ok {
		t.Error("the phrase is found as a substring")
	}
	if _, ok := sub.Substrings(); ok {
		t.Error("substrings of substrings")
	}
}

func TestSnippet(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("before ", 40) + "the\n\n  match" + strings.Repeat(" after", 40)
	at := strings.Index(long, "the\n")
	piece, marks := query.Snippet(long, query.Match{Marks: [][2]int{{at, at + len("the\n\n  match")}}}, 60)
	if got := piece[marks[0][0]:marks[0][1]]; len(marks) != 1 || got != "the match" {
		t.Errorf("marked %q in %q", got, piece)
	}
	if !strings.HasPrefix(piece, "…before") || !strings.HasSuffix(piece, "…") {
		t.Errorf("%q does not say that something was left out", piece)
	}
	// With several words the snippet shows where they are together.
	q, err := query.Parse("frog pond", query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	texts := []query.Text{{Field: query.FieldUser, Text: "A frog" + strings.Repeat(" and so on", 60) + " until the pond: a frog!"}}
	m, ok := q.Match(texts)
	if piece, marks = query.Snippet(texts[0].Text, m, 60); !ok || len(marks) != 2 || !strings.HasSuffix(piece, "the pond: a frog!") {
		t.Errorf(`%q %v; want ok, len(marks) == 2, strings.HasSuffix(piece, "the pond: a frog!")`, piece, marks)
	}
	if piece, marks = query.Snippet("all of it", query.Match{Marks: [][2]int{{0, 3}, {7, 9}}}, 60); piece != "all of it" || len(marks) != 2 {
		t.Errorf(`%q %v; want piece == "all of it", len(marks) == 2`, piece, marks)
	}
}

// TestExpressionsSayWhatRegexpSays compares the automaton with package regexp: on expressions of all kinds, on invalid UTF-8, and on an
// expression with too many states.
func TestExpressionsSayWhatRegexpSays(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(9, 3))
	atoms := []string{"a", "b", ".", `\d`, `\w`, `[a-c]`, `[^a]`, "k", "ſ", "é", `[α-ω]`, "你", `\pL`, `\b`, `\B`, "^", "$", `(?m:^a$)`, `(?s:.)`, "(?i:K)",
		`\x{fffd}`, "(?:)", `[^\x00-\x{10ffff}]`}
	var expression func(depth int) string
	expression = func(depth int) string {
		if depth == 0 {
			return atoms[r.IntN(len(atoms))]
		}
		a, b := expression(depth-1), expression(depth-1)
		switch r.IntN(6) {
		case 0:
			return "(?:" + a + "|" + b + ")"
		case 1:
			return "(" + a + ")*" + b
		case 2:
			return "(?:" + a + "){1,3}" + b
		case 3:
			return "(?:" + a + ")?" + b
		}
		return a + b
	}
	letters := []string{"a", "b", "c", "k", "K", "\u212a", "ſ", "é", "É", "ω", "你", "1", " ", "\n", "\xff", "\xe4\xbd", "_"}
	found := 0
	n := rounds(1_500, 10_000)
	for range n {
		text := expression(1 + r.IntN(3))
		q, err := query.Parse(text, query.Options{Regexp: true, Case: true})
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		re := regexp.MustCompile(text)
		for range 10 {
			var b strings.Builder
			for range r.IntN(12) {
				b.WriteString(letters[r.IntN(len(letters))])
			}
			got, want := q.Occurs([]query.Text{{Field: query.FieldUser, Text: b.String()}}), re.MatchString(b.String())
			if got != want {
				t.Fatalf("%q in %q: %v, want %v", text, b.String(), got, want)
			}
			if got {
				found++
			}
		}
	}
	if found < n*5/3 {
		t.Errorf("only %d matches: the test is too weak", found)
	}
	q, err := query.Parse(`a.{14}b.{14}c`, query.Options{Regexp: true})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		long := make([]byte, 20_000)
		for i := range long {
			long[i] = "ab"[r.IntN(2)]
		}
		if got := q.Occurs([]query.Text{{Field: query.FieldUser, Text: string(long)}}); got {
			t.Error("there is no c")
		}
		if got := q.Occurs([]query.Text{{Field: query.FieldUser, Text: string(long) + strings.Repeat("a", 15) + strings.Repeat("b", 15) + "c"}}); !got {
			t.Error("there is a c")
		}
	}
}

func parse(t *testing.T, text string) *query.Query {
	t.Helper()
	q, err := query.Parse(text, query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// kept returns a chunk as in the index.
func kept(c index.Chunk) *index.Kept { return &index.Kept{Chunk: c} }

// A query that was sent elsewhere as its form is the same query there.
func TestForm(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`one two`, `"a phrase" word* *part* -not`, `Straße "1 2"`} {
		for _, opt := range []query.Options{{}, {Case: true, Fields: query.FieldUser}} {
			q, err := query.Parse(text, opt)
			if err != nil {
				t.Fatal(err)
			}
			list := []*query.Query{q}
			if sub, ok := q.Substrings(); ok {
				list = append(list, sub)
			}
			for _, q := range list {
				sent, err := json.Marshal(q.Form())
				if err != nil {
					t.Fatal(err)
				}
				var form query.Form
				if err := json.Unmarshal(sent, &form); err != nil {
					t.Fatal(err)
				}
				again, err := form.Query()
				if err != nil || !reflect.DeepEqual(q.Keys(), again.Keys()) || !reflect.DeepEqual(q.TermKeys(), again.TermKeys()) || again.Form() != q.Form() {
					t.Errorf("%s is %s there, %v", text, sent, err)
				}
			}
		}
	}
	if _, err := (query.Form{Text: `"no plain word"`, Substrings: true}).Query(); err == nil {
		t.Error("a form that no query has became one")
	}
}

// An expression that also matches the empty text marks only what it found.
func TestMarksEmpty(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{"b*": "a«b»c", "^": "abc", "x*": "abc"} {
		q, err := query.Parse(expression, query.Options{Regexp: true})
		if err != nil {
			t.Fatal(err)
		}
		m, ok := q.Match([]query.Text{{Field: query.FieldUser, Text: "abc"}})
		if !ok {
			t.Fatalf("%s does not match", expression)
		}
		got, marks := query.Snippet("abc", m, 80)
		for _, at := range slices.Backward(marks) {
			got = got[:at[0]] + "«" + got[at[0]:at[1]] + "»" + got[at[1]:]
		}
		if got != want {
			t.Errorf("%s: %s, want %s", expression, got, want)
		}
	}
}
