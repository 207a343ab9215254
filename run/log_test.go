package run_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/run"
)

func plain(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "plain.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func decode(t testing.TB, b []byte) *run.Log {
	t.Helper()
	l, err := run.DecodeBytes(b)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// edit changes the text of a log.
func edit(t testing.TB, b []byte, pairs ...string) []byte {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(string(b), pairs[i]) {
			t.Fatalf("the log has no %q", pairs[i])
		}
		b = []byte(strings.Replace(string(b), pairs[i], pairs[i+1], 1))
	}
	return b
}

// Every record, decoded and encoded again, says the same: all members of the ten types have a field, and unknown members
// are kept.
func TestEveryMember(t *testing.T) {
	l := decode(t, plain(t))
	if len(l.Problems()) > 0 || l.Newer {
		t.Fatalf("problems %v", l.Problems())
	}
	header, err := run.EncodeHeader(l.Header)
	if err != nil {
		t.Fatal(err)
	}
	if d := run.Compare(l.HeaderRaw, header); d != nil {
		t.Errorf("header: %s", d.Describe("was", "is"))
	}
	seen := map[run.Type]bool{run.TypeHeader: true}
	for _, r := range l.Records() {
		seen[r.Type] = true
		raw, err := r.Raw()
		if err != nil {
			t.Fatal(err)
		}
		body, err := run.Decode(raw)
		if err != nil {
			t.Fatal(err)
		}
		again, err := run.Encode(body)
		if err != nil {
			t.Fatal(err)
		}
		if d := run.Compare(raw, again); d != nil {
			t.Errorf("%s: %s; want d == nil", r.Type, d.Describe("was", "is"))
		}
		if r.Type != body.Type() {
			t.Errorf("%s is %s", r.Type, body.Type())
		}
	}
	if len(seen) != 10 { // run.error is in TestMembersThatDoNotFit; the extension counts
		t.Errorf("%d types", len(seen))
	}
}

// A member of the wrong type, a null, and unknown values of enumerations are kept.
func TestMembersThatDoNotFit(t *testing.T) {
	for _, record := range []string{
		`{"type":"run.error","run_id":"r","ts":"t","error":{"name":"E","message":"m","stack":"s","provider":"p","kind":"k","status":429,"attempts":3,"max_attempts":5,"more":[]}}`,
		`{"type":"run.error","run_id":7,"ts":null,"error":{"name":null,"message":{},"status":"429","attempts":1.5}}`,
		`{"type":"run.status","run_id":"r","ts":"t","status":"dreaming"}`,
		`{"type":"run.end","run_id":"r","ts":"t","outcome":"vanished","final":null}`,
		`{"type":"run.start","run_id":"r","ts":"t","input":{"type":"parts","parts":[{"type":"text","text":"x"}]}}`,
		`{"type":"agent.event","run_id":"r","ts":"t","seq":"nine","event":{"type":"unheard.of"},"seq2":1}`,
		`{"type":"llm.response","run_id":"r","ts":"t","seq":1,"output":{"messages":[],"usage":null,"stop_reason":null}}`,
		`{"type":"run.diagnostics","run_id":"r","ts":"t","a":{"b":1e2}}`,
		`{"run_id":"r","ts":"t"}`,
		`{"type":"agent.event","run_id":"r","ts":"t","seq":9007199254740993.0,"event":{}}`,
		// Of a repeated member the last counts.
		`{"type":"run.end","outcome":5,"outcome":"x"}`,
		`{"type":"run.end","outcome":"x","outcome":5}`,
		`{"type":5,"type":"run.end","outcome":"x"}`,
		`{"type":"run.start","input":{"type":"text","text":"a"},"input":{"type":"parts","parts":[]}}`,
		`{"type":"llm.response","seq":1,"output":{"messages":[],"usage":{"model":"m"},"usage":null,"stop_reason":"stop","stop_reason":null}}`,
	} {
		body, err := run.Decode([]byte(record))
		if err != nil {
			t.Fatalf("%s: %v", record, err)
		}
		again, err := run.Encode(body)
		if err != nil {
			t.Fatalf("%s: %v", record, err)
		}
		for key := range rawjson.Fields([]byte(record)) {
			if d := run.Compare(rawjson.Get([]byte(record), key), rawjson.Get(again, key)); d != nil {
				t.Errorf("%s became %s", record, again)
			}
		}
	}
}

// A number that JSON does not have is refused.
func TestNotANumber(t *testing.T) {
	for _, n := range []float64{math.NaN(), math.Inf(1)} {
		if record, err := run.Encode(&run.RunContext{ContextLeftPercent: n}); err == nil {
			t.Errorf("%s, and no error", record)
		}
	}
}

// A log that is cut at any byte still has all its whole records, and reports a last record that is not whole.
func TestCutAtEveryByte(t *testing.T) {
	data := plain(t)
	whole := decode(t, data)
	header := bytes.IndexByte(data, '\n')
	for n := range data {
		l, err := run.DecodeBytes(data[:n])
		if n < header {
			if err == nil {
				t.Fatalf("cut at %d: no error", n)
			}
			continue
		}
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		want := 0
		for i, r := range whole.Records() {
			if r.Offset+r.Length <= int64(n) {
				want++
			}
			if whole.At(i).Offset != r.Offset {
				t.Fatalf("record %d is the one at %d, and the one at %d", i, r.Offset, whole.At(i).Offset)
			}
		}
		if l.Len() != want {
			t.Fatalf("cut at %d: %d records instead of %d", n, l.Len(), want)
		}
		tail := data[bytes.LastIndexByte(data[:n], '\n')+1 : n]
		if torn := len(tail) > 0 && !rawjson.Valid(tail); torn != (len(l.Problems()) == 1) {
			t.Fatalf("cut at %d: problems %v", n, l.Problems())
		}
	}
}

func TestDamage(t *testing.T) {
	data := string(plain(t))
	first, rest, _ := strings.Cut(data, "\n")
	second, _, _ := strings.Cut(rest, "\n")
	tests := []struct {
		name, data string
		records    int
		kinds      []run.ProblemKind
	}{
		{"garbage", first + "\nnot a record\n" + second + "\n", 1, []run.ProblemKind{run.ProblemMalformed}},
		{"glued", first + "\n" + second + second + "\n", 2, []run.ProblemKind{run.ProblemGlued}},
		{"glued to the header", first + second + "\n", 1, []run.ProblemKind{run.ProblemGlued}},
		{"after a torn one", first + "\n" + second[:60] + second + "\n", 1, []run.ProblemKind{run.ProblemMalformed}},
		{"scalar", first + "\nnull\n17\n" + second, 1, []run.ProblemKind{run.ProblemNotObject, run.ProblemNotObject}},
		{"NUL bytes", first + "\n" + second + "\n\x00\x00", 1, []run.ProblemKind{run.ProblemNULs}},
		{"byte order mark", "\xef\xbb\xbf" + first + "\n" + second, 1, []run.ProblemKind{run.ProblemBOM}},
		{"CRLF and blank lines", first + "\r\n\n  \n" + second + "\r\n", 1, nil},
		{"a second header", first + "\n" + first + "\n" + second, 1, []run.ProblemKind{run.ProblemHeaderAgain}},
		{"another schema", strings.Replace(first, `"schema_version":1`, `"schema_version":2`, 1) + "\n" + second, 1, []run.ProblemKind{run.ProblemNewer}},
		{"no schema", strings.Replace(first, `"schema_version":1,`, ``, 1) + "\n" + second, 1, []run.ProblemKind{run.ProblemNewer}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := decode(t, []byte(test.data))
			var kinds []run.ProblemKind
			for _, p := range l.Problems() {
				kinds = append(kinds, p.Kind)
			}
			if !slices.Equal(test.kinds, kinds) || l.Len() != test.records {
				t.Errorf("%d records instead of %d; %v instead of %v", l.Len(), test.records, kinds, test.kinds)
			}
		})
	}
	for _, none := range []string{"", "\n\n", second, `{"type":"header"}`, `{"type":"session","id":"x"}`, "null", "{"} {
		_, err := run.DecodeBytes([]byte(none))
		var p *run.Problem
		if !errors.As(err, &p) || p.Kind != run.ProblemNoHeader {
			t.Errorf("%q: %v; want errors.As(err, &p), p.Kind == run.ProblemNoHeader", none, err)
		}
	}
}

// Whatever the bytes are, decoding, auditing and replaying a log ends, and every record is valid JSON.
func FuzzDecode(f *testing.F) {
	data := plain(f)
	f.Add(data)
	f.Add(data[:len(data)-40])
	f.Add([]byte(`{"type":"header","run_id":"r"}{"type":"llm.request","run_id":"r","seq":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 64<<10 {
			return
		}
		l, err := run.DecodeBytes(data)
		if err != nil {
			return
		}
		for _, r := range l.Records() {
			raw, err := r.Raw()
			if err != nil || !rawjson.Valid(raw) {
				t.Fatalf("%q (%v); want no error, rawjson.Valid(raw)", raw, err)
			}
			body, err := run.Decode(raw)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := run.Encode(body); err == nil && (!rawjson.Valid(again) || bytes.IndexByte(again, '\n') >= 0) {
				t.Fatalf("%q is written as %q", raw, again)
			}
		}
		if _, err := run.Audit(l); err != nil {
			t.Fatal(err)
		}
		list, err := run.Diff(l, l)
		if err != nil {
			t.Fatal(err)
		}
		if s, differs := run.FirstDifference(list); differs {
			t.Fatalf("the run differs from itself in %s: %s", s.Name, s.Difference.Describe("a", "b"))
		}
		l.Events()
		for _, x := range l.Exchanges() {
			if _, err := run.CompareChat(x, data); err != nil {
				t.Fatal(err)
			}
			if x.Answered {
				a, err := run.NewAnswer("r", x)
				if err != nil {
					t.Fatal(err)
				}
				for _, b := range append(a.Chunks(true), a.JSON()) {
					if !rawjson.Valid(b) {
						t.Fatalf("%q is not JSON", b)
					}
				}
			}
		}
	})
}

// Objects with very many members are compared in one pass over each. Looking for each member from the beginning would take hours.
func TestCompareManyMembers(t *testing.T) {
	t.Parallel()
	object := func(last string) []byte {
		b := []byte(`{"k":0`)
		for i := range soaktest.Part(1<<18, 1<<16) {
			b = fmt.Appendf(b, `,"k%d":%d`, i, i)
		}
		return append(b, `,"k":`+last+`}`...)
	}
	a := object("1")
	if d := run.Compare(a, object("1.0")); d != nil {
		t.Errorf("equal objects: %+v", d)
	}
	if d := run.Compare(a, object("2")); d == nil || d.Pointer != "/k" || d.A != "1" || d.B != "2" {
		t.Errorf("the difference is %+v; want 1 and 2 at /k", d)
	}
}
