package difftest

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

type inner struct {
	Name  string
	count int
	at    *inner
}

type outer struct {
	List  []inner
	By    map[string][]inner
	Raw   []byte
	Cost  float64
	When  time.Time
	Close func()
}

// Diff names each place that differs, and returns "" for equal values.
func TestDiff(t *testing.T) {
	now := time.Now()
	loop, other := &inner{Name: "loop"}, &inner{Name: "loop"}
	loop.at, other.at = loop, other
	for _, test := range []struct {
		want, got any
		diff      string
	}{
		{nil, nil, ""},
		{nil, 1, "the value: -nil +1 (int)\n"},
		{1, int64(1), "the value: -1 (int) +1 (int64)\n"},
		{uint8(1), uint8(2), "the value: -1 (uint8) +2 (uint8)\n"},
		{"a", "b", "the value: -\"a\" +\"b\"\n"},
		{"a\nb\nc\n", "a\nx\nc\n", "the value: \n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n"},
		{[]byte("a"), []byte("a"), ""},
		{[]byte("a\n\xff"), []byte("b"), "the value: -\"a\\n\\xff\" +\"b\"\n"},
		{[]int{1, 2}, []int{1, 3, 4}, "the value: -2 elements +3 elements\n[1]: -2 (int) +3 (int)\n[2]: +4 (int)\n"},
		{[]int{1, 2}, []int{1}, "the value: -2 elements +1 elements\n[1]: -2 (int)\n"},
		{[2]int{1, 2}, [2]int{1, 3}, "[1]: -2 (int) +3 (int)\n"},
		{[]int(nil), []int{}, "the value: -nil ([]int) +[] ([]int)\n"},
		{map[int]int(nil), map[int]int{}, "the value: -nil (map[int]int) +map[] (map[int]int)\n"},
		{map[string]int{"a": 1, "b": 2, "c": 3}, map[string]int{"b": 3, "c": 3, "d": 4}, "[\"a\"]: -1 (int)\n[\"b\"]: -2 (int) +3 (int)\n[\"d\"]: +4 (int)\n"},
		{&inner{count: 1}, &inner{count: 2}, ".count: -1 (int) +2 (int)\n"},
		{&inner{at: &inner{}}, &inner{}, ".at: -{Name: count:0 at:<nil>} (difftest.inner) +nil\n"},
		{&inner{}, (*inner)(nil), "the value: -{Name: count:0 at:<nil>} (difftest.inner) +nil\n"},
		{loop, other, ""},
		{outer{When: now}, outer{When: now.UTC().Round(0)}, ""},
		{outer{When: now}, outer{When: now.Add(1)}, fmt.Sprintf(".When: -%v +%v\n", now, now.Add(1))},
		{outer{By: map[string][]inner{"x": {{Name: "a"}}}}, outer{By: map[string][]inner{"x": {{Name: "b"}}}}, ".By[\"x\"][0].Name: -\"a\" +\"b\"\n"},
		{[]any{1, "a"}, []any{1, 2}, "[1]: -\"a\" +2 (int)\n"},
		{outer{Cost: math.NaN()}, outer{Cost: math.NaN()}, ""},
		{outer{Cost: 1}, outer{Cost: 1 + 1e-7}, ".Cost: -1 (float64) +1.0000001 (float64)\n"},
	} {
		if diff := Diff(test.want, test.got); diff != test.diff {
			t.Errorf("%+v and %+v: %q, not %q", test.want, test.got, diff, test.diff)
		}
	}
	same := outer{Close: func() {}}
	if diff := Diff(same, same); !strings.HasPrefix(diff, ".Close: ") {
		t.Errorf("functions cannot be compared, but the difference is %q", diff)
	}
	if diff := Diff(make([]int, 100), slices.Repeat([]int{1}, 100)); strings.Count(diff, "\n") != most+1 || !strings.HasSuffix(diff, "and 80 more\n") {
		t.Errorf("a hundred places are not cut: %q", diff)
	}
}

// Options make a comparison less strict, but no more than documented.
func TestOptions(t *testing.T) {
	x := outer{List: []inner{}, By: map[string][]inner{}, Cost: 1}
	y := outer{Cost: 1 + 1e-7}
	if diff := Diff(x, y, EmptyIsNil, Roughly); diff != "" {
		t.Errorf("with both options: %q, not none", diff)
	}
	if diff := Diff(x, y, EmptyIsNil); !strings.HasPrefix(diff, ".Cost: ") {
		t.Errorf("numbers: %q, not a difference in Cost", diff)
	}
	if diff := Diff(x, y, Roughly, Without("outer.List", "inner.By")); !strings.HasPrefix(diff, ".By: ") {
		t.Errorf("fields: %q, not a difference in By", diff)
	}
	if diff := Diff([]int{}, []int{1}, EmptyIsNil); diff == "" {
		t.Error("an element is left out")
	}
	if diff := Diff([]int(nil), []int{1}, EmptyIsNil); diff == "" {
		t.Error("an element is left out beside nil")
	}
	if diff := Diff(1.0, 1.1, Roughly); diff == "" {
		t.Error("1 is roughly 1.1")
	}
}
