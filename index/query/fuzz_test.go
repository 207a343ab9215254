package query_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/query"
)

// FuzzParse: any input is a query or an error, and a query can be run.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "word", `"a phrase"* -not *sub*`, `-"x`, "- * ** -* *-", `"\"\\"`, "你好 👍", "a(b|c)+d{2,}"} {
		f.Add(s, false, false)
		f.Add(s, true, true)
	}
	f.Fuzz(func(t *testing.T, text string, re, exact bool) {
		q, err := query.Parse(text, query.Options{Regexp: re, Case: exact})
		if err != nil {
			return
		}
		if q.Terms() == 0 {
			t.Errorf("%q: a query without a term", text)
		}
		q.Match([]query.Text{{query.FieldUser, text}})
		q.May(new(index.Kept))
		q.Scan([]byte(text), false, func(from, to int) bool { return from <= to })
		q.Substrings()
	})
}

// FuzzNothingHeldBack: a text that matches passes the signature and the search in the undecoded record.
func FuzzNothingHeldBack(f *testing.F) {
	f.Add("parseHeader", "header", false, false)
	f.Add("a Kelvin \u212a", "k*", false, false)
	f.Add("\nfoo \\nfoo", "foo", false, true)
	f.Add("ПРИВЕТ 你好👍", "привет", false, false)
	f.Add("x <b> y", "a|(b>)", true, false)
	f.Fuzz(func(t *testing.T, text, words string, re, exact bool) {
		q, err := query.Parse(words, query.Options{Regexp: re, Case: exact})
		if err != nil {
			return
		}
		text = strings.ToValidUTF8(text, "\ufffd")
		if _, ok := q.Match([]query.Text{{query.FieldUser, text}}); !ok {
			return
		}
		var s index.Signer
		s.Add([]byte(text), 0, 1)
		sig := kept(s.Finish()[0])
		if !q.May(sig) {
			t.Errorf("the signature of %q holds back %q", text, words)
		}
		record, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		q.Scan(record, sig.Odd(), func(int, int) bool { found = true; return true })
		if !found {
			t.Errorf("%q holds back %q", record, words)
		}
		if !q.MayRecord(record) {
			t.Errorf("%q alone holds back %q", record, words)
		}
	})
}
