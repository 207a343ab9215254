package pi

import (
	"testing"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// FuzzUnquote: the short way for lists gives what the long way gives.
func FuzzUnquote(f *testing.F) {
	for _, s := range []string{`"plain"`, `"a\nb\t\"c\" \\ \/"`, `"\u00e9 \ud83d\ude00 \ud83d"`, `"cut\"`, `"\x"`, `"日本\n"`, "\"\xff\\n\"", `""`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		if end, err := rawjson.Skip(value, 0); err != nil || end != len(value) || !rawjson.IsString(value) || value[0] != '"' {
			return // only whole strings get there
		}
		got, ok := unquote(value)
		want, wantOK := rawjson.Unquote(value)
		if got != want || ok != wantOK {
			t.Errorf("unquote(%s) = %q, %v; want %q, %v", value, got, ok, want, wantOK)
		}
	})
}
