package rawjson

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

// FuzzUnquote: Unquote accepts what encoding/json accepts as a string, with the same result.
func FuzzUnquote(f *testing.F) {
	for _, seed := range []string{
		`""`, `"a"`, `"\n\t\r\b\f\/\\\""`, `"\u00e9\u4e2d\ud83d\ude00"`, `"\ud83d"`, `"\ud83d\u0041"`, `"\ude00\ud83d"`, `"\ud83d\ud83d\ude00"`,
		`"\u12"`, `"\u12g4"`, `"\x"`, `"\"`, `"a"b\n"`, "\"\x01\\n\"", "\"\\n\x1f\"", "\"\\n\x7f\"", "\"\xff\\n\"", `"\n日本語 and then some more"`, `"\u0000"`,
		"\"12345678\\n1234567\x1f\"", `"\n1234567"8"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		if len(value) < 2 || value[0] != '"' {
			return
		}
		var want string
		err := json.Unmarshal(value, &want)
		got, ok := Unquote(value)
		if err == nil && value[len(value)-1] == '"' && (!ok || got != want) {
			t.Errorf("%q: %q, %v; encoding/json says %q", value, got, ok, want)
		}
		if ok && !utf8.ValidString(got) {
			t.Errorf("%q: %q is not UTF-8", value, got)
		}
	})
}

// TestUnquoteLong is FuzzUnquote for strings long enough for vectors: escapes and invalid bytes at all places around them.
func TestUnquoteLong(t *testing.T) {
	pieces := []string{`\n`, `\"`, `\\`, `\/`, `\t`, `\b`, `\u00e9`, `\ud83d\ude00`, "é", `plain text`, `a`, ` `}
	wrong := []string{`"`, "\n", "\x1f", `\x`, `\u12`, `\`, "\xff"}
	rnd := rand.New(rand.NewPCG(5, 6))
	for range soaktest.Part(20_000, 8_000) {
		value := []byte(`"\n`) // the text before the first escape is not checked
		for n := rnd.IntN(60); n > 0; n-- {
			if rnd.IntN(200) == 0 {
				value = append(value, wrong[rnd.IntN(len(wrong))]...)
			}
			value = append(value, pieces[rnd.IntN(len(pieces))]...)
		}
		value = append(value, '"')
		var want string
		err := json.Unmarshal(value, &want)
		if got, ok := Unquote(value); ok != (err == nil) || got != want {
			t.Fatalf("%q: %q, %v; encoding/json says %q, %v", value, got, ok, want, err)
		}
	}
}

func BenchmarkUnquote(b *testing.B) {
	var text []byte
	for range 200 {
		text = append(text, "a line of text with some words\n\tand \"quotes\""...)
	}
	value := Quote(string(text))
	b.SetBytes(int64(len(value)))
	for b.Loop() {
		if _, ok := Unquote(value); !ok {
			b.Fatal("no string")
		}
	}
}

// TestPick: each member equals that of Get: the last of several, and none after a syntax error.
func TestPick(t *testing.T) {
	keys := []string{"a", "b", "c", "é"}
	for _, object := range []string{
		`{"a":1,"b":"x","c":[1]}`, `{"b":1,"a":2,"a":{"a":3}}`, `{"\u0061":1,"x":{"b":2}}`, ` {"é":null, "d" : 4 , "b":5}`, `{}`, `[]`, `7`, ``,
		`{"a":1,"b":tru,"c":2}`, `{"a":1`, `{"a": 1}`, `{"a":1 }`, `{"a":-1,"b":1e3,"c":0.5}`, `{"a":"\u0061\\","a":[{}],"c":{"a":2}}`, `{"c":1,"a":2,"c":3,"b":4}`,
		`{"a":1,}`, `{"a":1]`, `{"a":01}`, `{"a":"x`, `{"a"`, `{"a":`, `{"a":}`, `{`, "{\"a\x01\":1,\"b\":2}",
	} {
		got := make([][]byte, len(keys))
		got[1] = []byte("left over")
		Pick([]byte(object), keys, got)
		for i, key := range keys {
			if want := Get([]byte(object), key); string(want) != string(got[i]) {
				t.Errorf("%s of %s: %q, not %q", key, object, got[i], want)
			}
		}
	}
}

// PickIn is Get and Pick in one pass: of repeated members the last counts, and a value that is not an object has no members.
func TestPickIn(t *testing.T) {
	keys := []string{"a", "b"}
	for _, object := range []string{
		`{"m":{"a":1,"b":[2]}}`, `{"x":{"a":7},"m": {"b" : "\u0061"} ,"y":2}`, `{"m":{"a":1,"a":{"a":2}}}`, `{"m":{"a":1},"m":{"b":2}}`,
		`{"m":{"a":1},"m":3}`, `{"m":3,"m":{"a":1}}`, `{"m":null}`, `{"m":[{"a":1}]}`, `{"\u006d":{"\u0061":1}}`, `{}`, `[]`, `7`, ``,
	} {
		want := make([][]byte, len(keys))
		value := Get([]byte(object), "m")
		Pick(value, keys, want)
		got := [][]byte{[]byte("left"), []byte("over")}
		if v := PickIn([]byte(object), "m", keys, got); string(v) != string(value) || !slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("%s: %q of %q, want %q of %q", object, got, v, want, value)
		}
	}
	for _, broken := range []string{`{"m":{"a":1,"b"`, `{"m":{"a":1]}`, `{"m":{"a":1}`, `{"m":{"a":tru}}`} {
		got := make([][]byte, len(keys))
		if v := PickIn([]byte(broken), "m", keys, got); v != nil && !bytes.HasPrefix([]byte(broken)[5:], v) {
			t.Errorf("%s: %q; want not (v != nil && !bytes.HasPrefix([]byte(broken)[5:], v))", broken, v)
		}
	}
}
