package rawjson

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// TestLeaves: one pass over a value visits the same as walking each object and array separately.
func TestLeaves(t *testing.T) {
	const deepest = 3
	refused := func(key []byte) bool { return len(key) > 0 && key[0] == 't' }
	var slowly func(value []byte, depth int) []string
	slowly = func(value []byte, depth int) (list []string) {
		switch value = bytes.TrimSpace(value); {
		case depth > deepest:
		case IsObject(value):
			for key, v := range Members(value) {
				if !refused(key) {
					list = append(append(list, "key "+string(key)), slowly(v, depth+1)...)
				}
			}
		case IsArray(value):
			for v := range Elements(value) {
				list = append(list, slowly(v, depth+1)...)
			}
		default:
			list = append(list, string(value))
		}
		return list
	}
	visited := func(value []byte) (list []string) {
		Leaves(value, deepest, func(key []byte) bool {
			if refused(key) {
				return false
			}
			list = append(list, "key "+string(key))
			return true
		}, func(leaf []byte) { list = append(list, string(leaf)) })
		return list
	}
	leaves, keys := 0, 0
	for seed := range 300 {
		m := newMaker(uint64(seed))
		m.spaces = seed%2 == 1
		m.value(0)
		got, want := visited(m.b), slowly(m.b, 0)
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: %s has %q, not %q", seed, m.b, got, want)
		}
		for _, s := range got {
			if strings.HasPrefix(s, "key ") {
				keys++
			} else {
				leaves++
			}
		}
	}
	if leaves < 500 || keys < 200 {
		t.Errorf("only %d leaves and %d keys were seen", leaves, keys)
	}
	for _, damaged := range []string{``, ` `, `{`, `{"a"`, `{"a":[1,`, `[1,{"a":}`, `[`, `["a`, `{"a":1,,}`} {
		if got := visited([]byte(damaged)); len(got) > 2 {
			t.Errorf("%s has %q", damaged, got)
		}
	}
}

// TestFirst: the first of repeated keys counts, and what follows it is not read.
func TestFirst(t *testing.T) {
	for object, want := range map[string]string{
		`{"a":1,"b":{"c":2,"c":3},"b":{"c":4}}`:   "2",
		` {"b" : { "d":{"c":0}, "\u0063" : [2] }`: "[2]",
		`{"c":1,"b":{"d":2}}`:                     "",
		`{"b":7}`:                                 "",
		`{"b":[{"c":1}]}`:                         "",
		`{"b":{"c":tru`:                           "",
		`{"b":{"d":1},"b":{"c":1}}`:               "", // the search does not return to the outer object
		`7`:                                       "",
		``:                                        "",
	} {
		if got := First([]byte(object), "b", "c"); string(got) != want {
			t.Errorf("%s has %q, not %q", object, got, want)
		}
	}
}
