package dialect_test

import (
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
)

// FuzzUnquote: the fast path gives the same as the slow one.
func FuzzUnquote(f *testing.F) {
	for _, s := range []string{`"plain"`, `"a\nb\t\"c\" \\ \/"`, `"\u00e9 \ud83d\ude00 \ud83d"`, `"cut\"`, `"\x"`, `"日本\n"`, "\"\xff\\n\"", `""`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		if end, err := rawjson.Skip(value, 0); err != nil || end != len(value) || !rawjson.IsString(value) || value[0] != '"' {
			return // only whole strings reach Unquote
		}
		got, ok := dialect.Unquote(value)
		want, wantOK := rawjson.Unquote(value)
		if got != want || ok != wantOK {
			t.Errorf("Unquote(%s) = %q, %v; want %q, %v", value, got, ok, want, wantOK)
		}
	})
}
