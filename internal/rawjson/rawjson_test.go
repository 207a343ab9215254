package rawjson

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

func TestMain(m *testing.M) { os.Exit(soaktest.Main(m)) }

var samples = []string{
	`{}`, `[]`, `null`, `true`, `false`, `0`, `-0`, `1.5e+10`, `""`, ` { "a" : [ 1 , 2 , { } ] } `,
	`{"a":1,"a":2,"b":{"c":[true,null,"x\\\"y"]}}`, `{"t\u0079pe":"session"}`, `"\ud800"`, `"\u00e9é` + "\u2028" + `"`,
	`{"a":tru}`, `{"a":1,}`, `[1,,2]`, `[1 2]`, `{"a" 1}`, `{a:1}`, `"\x"`, `"\u12g4"`, "\"\x01\"", `01`, `1.`, `1e`, `-`, `--1`,
	`{"a":"b`, `{"a":"b"`, `{"a":"b\`, `{"a":"b\u00`, `[`, `{`, `}`, `]`, `{"a":[}`, `[1]]`, `nul`, `+1`, `"a" "b"`, ``,
	"{\"a\":\t1}", "\"a\tb\"", strings.Repeat(`\\`, 40), `"` + strings.Repeat(`\\`, 33) + `"`, `"` + strings.Repeat(`\`, 65) + `"`,
	`{"k":"` + strings.Repeat("x", 100) + `\n` + strings.Repeat("y", 63) + `\""}`, "\xef\xbb\xbf{}", "\"\xff\xfe\"",
	`{"a":[ ],"b":{ },"c":[[],{}]}`, `[ 1]`, `{"a":0.5e-7,"b":-12,"c":00}`, `{"a":12345678901234567890.0123456789}`, `[1.]`, `[.5]`,
	`{"a":"b","c"}`, `{"a":1 "b":2}`, `[1,]`, `{"a":nul}`, `{"a":falsey}`, `{"a":[true,false,null]}`, `{"a":1}}`, `{"a":[1}`,
}

func textValid(b []byte) bool {
	var t Text
	t.Reset(b)
	i := t.skip(0)
	return i >= 0 && SkipSpace(b, i) == len(b)
}

func TestValidAgreesWithEncodingJSON(t *testing.T) {
	for _, s := range samples {
		want := json.Valid([]byte(s))
		if got := Valid([]byte(s)); got != want {
			t.Errorf("Valid(%q) = %v, want %v", s, got, want)
		}
		if got := textValid([]byte(s)); got != want {
			t.Errorf("Text of %q is valid: %v, want %v", s, got, want)
		}
	}
}

func FuzzValidAgreesWithEncodingJSON(f *testing.F) {
	for _, s := range samples {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		want := json.Valid(b)
		if got := Valid(b); got != want && bytes.Count(b, []byte("["))+bytes.Count(b, []byte("{")) < 9000 {
			t.Fatalf("Valid(%q) = %v, want %v", b, got, want)
		}
		if got := textValid(b); got != Valid(b) {
			t.Fatalf("Text and bytes differ on %q: %v", b, got)
		}
	})
}

// The vector code and the portable code must agree on every byte, at every place in a block and a window.
func TestIndexPortable(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	alphabets := []string{`"\\`, `"\ abcdefghijklmnopqrstuvwxyz`, `"\u00e9n ` + "é", `x`, `"`, `\"` + "\x00\x1f\x20\x7f\x80\xff"}
	vector := func(b []byte) (list []uint32, ok bool) {
		var x indexer
		for x.done.to < len(b) {
			if list = append(list, x.next(b)...); x.done.trouble {
				return nil, false
			}
		}
		return list, true
	}
	portable := func(b []byte) (list []uint32, ok bool) {
		for at := (indexed{}); at.to < len(b); {
			if list, at = indexGo(b, at.to, min(at.to+window, len(b)), list); at.trouble {
				return nil, false
			}
		}
		return list, true
	}
	good := 0
	for range rounds(6_000, 50_000) {
		b := make([]byte, rng.IntN([]int{70, 300, 3 * window}[rng.IntN(3)]))
		alphabet := alphabets[rng.IntN(len(alphabets))]
		for i := 0; i < len(b); i++ {
			b[i] = alphabet[rng.IntN(len(alphabet))]
			if b[i] == '\\' && rng.IntN(200) > 0 { // usually a character that may be escaped
				i += copy(b[i+1:], []string{`\`, `"`, `n`, `/`, `u12aF`, `t`, `b`, `f`, `r`}[rng.IntN(9)])
			}
		}
		got, ok := vector(b)
		want, wantOK := portable(b)
		// One reports a backslash at the very end as trouble, the other as an unterminated string.
		if ok != wantOK && !bytes.HasSuffix(b, []byte(`\`)) {
			t.Fatalf("%q: ok is %v, portable %v", b, ok, wantOK)
		}
		if ok && wantOK && !slices.Equal(got, want) {
			t.Fatalf("%q: quotes at %d, portable %d", b, got, want)
		}
		if ok {
			good++
		}
	}
	if good < 1000 {
		t.Errorf("only %d texts were without trouble", good)
	}
}

func TestDeepNestingNeedsNoStack(t *testing.T) {
	const depth = 5_000_000
	b := []byte(strings.Repeat("[", depth) + strings.Repeat("]", depth))
	if !Valid(b) {
		t.Error("deeply nested arrays are not valid")
	}
	if Valid(b[:len(b)-1]) {
		t.Error("an array that is not closed is valid")
	}
	mixed := []byte(strings.Repeat(`{"a":[`, 200) + strings.Repeat(`]}`, 200))
	if !Valid(mixed) {
		t.Error("nested objects and arrays are not valid")
	}
	mixed[len(mixed)-300] = '}'
	if Valid(mixed) {
		t.Error("a bracket closed by a brace is valid")
	}
}

func TestGet(t *testing.T) {
	object := []byte(` {"a":1, "b" : "x\"y" ,"a":[2,{"a":3}],"t\u0079pe":"session","n":null}`)
	for key, want := range map[string]string{"a": `[2,{"a":3}]`, "b": `"x\"y"`, "type": `"session"`, "n": "null", "zz": ""} {
		if got := string(Get(object, key)); got != want {
			t.Errorf("Get(%q) = %s, want %s", key, got, want)
		}
	}
	if got := Str(object, "b"); got != `x"y` {
		t.Errorf("Str = %q", got)
	}
	var list []string
	for e := range Elements([]byte(` [1, "a" ,{"b":[]} , null]`)) {
		list = append(list, string(e))
	}
	if got := strings.Join(list, "|"); got != `1|"a"|{"b":[]}|null` {
		t.Errorf("Elements = %s", got)
	}
}

func TestSetAndDelete(t *testing.T) {
	for _, c := range []struct{ in, key, set, afterSet, afterDelete string }{
		{`{}`, "a", `1`, `{"a":1}`, `{}`},
		{`{"a":1}`, "a", `"x"`, `{"a":"x"}`, `{}`},
		{`{ "a" : 1 , "b" : 2.50 }`, "a", `9`, `{ "a" : 9 , "b" : 2.50 }`, `{ "b" : 2.50 }`},
		{`{ "a" : 1 , "b" : 2.50 }`, "b", `9`, `{ "a" : 1 , "b" : 9 }`, `{ "a" : 1 }`},
		{`{"a":1,"b":2,"a":3}`, "a", `9`, `{"a":1,"b":2,"a":9}`, `{"b":2}`},
		{`{"a":1,"a":2,"b":3}`, "a", `9`, `{"a":1,"a":9,"b":3}`, `{"b":3}`},
		{`{"x":1}`, "a", `{"y":[]}`, `{"x":1,"a":{"y":[]}}`, `{"x":1}`},
		{`{"\u0061":1,"c":1e2}`, "a", `2`, `{"\u0061":2,"c":1e2}`, `{"c":1e2}`},
	} {
		if got := string(Set([]byte(c.in), c.key, []byte(c.set))); got != c.afterSet {
			t.Errorf("Set(%s, %s) = %s, want %s", c.in, c.key, got, c.afterSet)
		}
		if got := string(Delete([]byte(c.in), c.key)); got != c.afterDelete {
			t.Errorf("Delete(%s, %s) = %s, want %s", c.in, c.key, got, c.afterDelete)
		}
	}
}

func FuzzEditKeepsTheRest(f *testing.F) {
	for _, s := range samples {
		f.Add([]byte(s), "a")
	}
	f.Fuzz(func(t *testing.T, b []byte, key string) {
		if !Valid(b) || !IsObject(b) || len(b) > 1<<16 {
			return
		}
		key = strings.ToValidUTF8(key, "")
		before := fields(b)
		set, deleted := Set(b, key, []byte(`{"new":1}`)), Delete(b, key)
		if !Valid(set) || !Valid(deleted) {
			t.Fatalf("edit of %q gives %q and %q", b, set, deleted)
		}
		if got := string(Get(set, key)); got != `{"new":1}` {
			t.Fatalf("after Set the member is %q", got)
		}
		if Get(deleted, key) != nil {
			t.Fatalf("after Delete the member is still in %q", deleted)
		}
		after, without := fields(set), fields(deleted)
		for k, v := range before {
			if k == key {
				continue
			}
			if after[k] != v || without[k] != v {
				t.Fatalf("member %q was %q, is %q and %q", k, v, after[k], without[k])
			}
		}
	})
}

func fields(b []byte) map[string]string {
	m := map[string]string{}
	for k, v := range Fields(b) {
		m[k] = string(v)
	}
	return m
}

func TestAppendStringRoundTrip(t *testing.T) {
	for _, s := range []string{"", "plain", "q\"b\\n\n\t\r\b\f\x01", "é\u2028\u2029🎉", "bad\xffbyte"} {
		q := Quote(s)
		var back string
		if err := json.Unmarshal(q, &back); err != nil {
			t.Fatalf("Quote(%q) = %s: %v", s, q, err)
		}
		if want := strings.ToValidUTF8(s, "\uFFFD"); back != want {
			t.Errorf("Quote(%q) reads back as %q", s, back)
		}
	}
}

func TestSyntaxErrorTellsShortFromWrong(t *testing.T) {
	for s, short := range map[string]bool{`{"a":"b`: true, `{"a":1`: true, `{"a":tru`: true, `{"a":x}`: false, `{bad`: false} {
		_, err := Skip([]byte(s), 0)
		e, ok := err.(*SyntaxError)
		if !ok || e.Short != short {
			t.Errorf("Skip(%q): %v, want short %v", s, err, short)
		}
	}
}

func TestMapElements(t *testing.T) {
	double := func(e []byte) []byte { return append(append([]byte("["), e...), ']') }
	onlyStrings := func(e []byte) []byte {
		if IsString(e) {
			return e
		}
		return nil
	}
	same := func(e []byte) []byte { return e }
	for _, c := range []struct {
		array string
		f     func([]byte) []byte
		want  string
	}{
		{`[ 1 , "a" ]`, same, `[ 1 , "a" ]`}, // returned unchanged
		{`[ 1 , "a" ]`, double, `[[1],["a"]]`},
		{`[ 1 , "a" , {} , "b" ]`, onlyStrings, `["a","b"]`},
		{`[1]`, onlyStrings, `[]`},
		{`[]`, double, `[]`},
		{`{"no":"array"}`, double, `{"no":"array"}`},
		{``, double, ``},
	} {
		if got := string(MapElements([]byte(c.array), c.f)); got != c.want {
			t.Errorf("%s became %s, not %s", c.array, got, c.want)
		}
	}
}

// MapMembers changes what Set would change, and nothing else. A repeated key has a value at each place.
func TestMapMembers(t *testing.T) {
	grow := func(key string, value []byte) []byte {
		if key == "keep" {
			return value
		}
		return append([]byte("1"), value...)
	}
	for object, want := range map[string]string{
		`{}`:                             `{}`,
		`{"keep":1}`:                     `{"keep":1}`,
		` { "a" : 2 , "keep" : [ 3 ] } `: ` { "a" : 12 , "keep" : [ 3 ] } `,
		`{"\u0061":1,"a":2,"a":3}`:       `{"\u0061":11,"a":12,"a":13}`,
		`{"a":2`:                         `{"a":2`,
		`{"a":2,"b"}`:                    `{"a":2,"b"}`,
		`[2]`:                            `[2]`,
		``:                               ``,
	} {
		if got := string(MapMembers([]byte(object), grow)); got != want {
			t.Errorf("%s became %s, want %s", object, got, want)
		}
	}
}

func TestInside(t *testing.T) {
	for value, want := range map[string]string{
		`"plain"`: "plain", `""`: "", `"a\n\u00e4"`: "a\nä", `"\\"`: `\`, // part of the text, or decoded
		`12`: "nil", `null`: "nil", `{}`: "nil", ``: "nil", `"`: "nil",
	} {
		got := Inside([]byte(value))
		if string(got) != want && !(got == nil && want == "nil") {
			t.Errorf("%s has %q inside, not %q", value, got, want)
		}
	}
	value := []byte(`"plain"`)
	if allocs := testing.AllocsPerRun(10, func() { Inside(value) }); allocs != 0 {
		t.Errorf("%v allocations for a string without escapes", allocs)
	}
}

// TestOutlineValues: the value of a member equals that of Get, whatever it is and whatever follows it.
func TestOutlineValues(t *testing.T) {
	var text Text
	for _, value := range []string{`0`, `7`, `1234567890`, `-3`, `1.5`, `2e7`, `true`, `false`, `null`, `"a"`, `"\\"`, `{"a":1}`, `[1,2]`, `{}`} {
		for _, form := range []string{`{"a":%s}`, `{"a":%s,"b":1}`, `{"a": %s , "b":1}`, "{\"a\":%s\n}"} {
			object := []byte(strings.Replace(form, "%s", value, 1))
			text.Reset(object)
			members, _, err := text.Outline(0, 0)
			if err != nil || len(members) == 0 {
				t.Fatal(string(object), err)
			}
			if got, want := text.Value(&members[0]), Get(object, "a"); string(got) != string(want) {
				t.Errorf("%s: the value is %s, not %s", object, got, want)
			}
		}
	}
}
