package rawjson

import (
	"runtime"
	"slices"
	"strings"
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

// TestDiffIsBounded: values that are nested very deep, or have very long keys, are compared only as far as the work is proportional to
// their size.
func TestDiffIsBounded(t *testing.T) {
	nested := func(open, end, inner string, depth int) string {
		return strings.Repeat(open, depth) + inner + strings.Repeat(end, depth)
	}
	wide := func(inner string) string {
		return `{"` + strings.Repeat("k", 100_000) + `":[` + strings.Repeat(inner+",", 50_000) + inner + `]}`
	}
	for _, c := range []struct{ name, a, b string }{
		{"arrays", nested("[", "]", "1", 100_000), nested("[", "]", "2", 100_000)},
		{"objects", nested(`{"a":`, "}", "1", 50_000), nested(`{"a":`, "}", "2", 50_000)},
		{"more than a stack holds", nested("[", "]", "1", 3_000_000), nested("[", "]", "2", 3_000_000)},
		{"a long key", wide("1"), wide("2")},
	} {
		t.Run(c.name, func(t *testing.T) {
			found, written := 0, 0
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			Diff([]byte(c.a), []byte(c.b), func(p string) { found, written = found+1, written+len(p) })
			runtime.ReadMemStats(&after)
			size := len(c.a) + len(c.b)
			if found == 0 || written > 32*size+8<<20 {
				t.Errorf("%d places found, in %d bytes", found, written)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > uint64(64*size+64<<20) {
				t.Errorf("%d bytes of memory for %d", took, size)
			}
		})
	}
	deep := func(inner string) []byte { return []byte(nested("[", "]", inner, 1000)) }
	var got []string
	if Diff(deep("1"), deep("2"), func(p string) { got = append(got, p) }); len(got) != 1 || got[0] != strings.Repeat("/0", 1000) {
		t.Errorf("%q; want the place at a depth of 1000", got)
	}
}
