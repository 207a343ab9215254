package rawjson

import (
	"slices"
	"testing"
)

func TestDiff(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want []string
	}{
		{`{"a":1,"b":[1,2]}`, `{ "b":[1.0,2e0], "a":1 }`, nil},
		{`{"a":1}`, `{"a":2}`, []string{"/a"}},
		{`{"a":null}`, `{}`, []string{"/a"}},
		{`{}`, `{"x/y":1,"~":2}`, []string{"/x~1y", "/~0"}},
		{`[1,2,3]`, `[1]`, []string{"/1", "/2"}},
		{`[1]`, `[1,2]`, []string{"/1"}},
		{`"\u00e9"`, `"é"`, nil},
		{`"\ud800"`, `"\udc00"`, []string{""}},
		{`9007199254740993`, `9007199254740992`, []string{""}},
		{`{"a":1,"a":2}`, `{"a":2}`, []string{""}},
		{`{"a":{"b":[{"c":true}]}}`, `{"a":{"b":[{"c":false}]}}`, []string{"/a/b/0/c"}},
		{`"1"`, `1`, []string{""}},
	} {
		var got []string
		Diff([]byte(c.a), []byte(c.b), func(p string) { got = append(got, p) })
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s and %s: %q, want %q", c.a, c.b, got, c.want)
		}
	}
}
