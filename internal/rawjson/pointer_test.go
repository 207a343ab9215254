package rawjson

import "testing"

func TestPointer(t *testing.T) {
	const doc = `{"a": {"b/c": [1, {"x~y":"old"} ,3]}, "a":{"b/c":[ 7,{"x~y" : "it" }],"n":null},"":5}`
	for _, c := range []struct{ pointer, at, set string }{
		{"", doc, `"new"`},
		{"/a/b~1c/1/x~0y", `"it"`, `{"a": {"b/c": [1, {"x~y":"old"} ,3]}, "a":{"b/c":[ 7,{"x~y" : "new" }],"n":null},"":5}`},
		{"/a/b~1c/0", "7", `{"a": {"b/c": [1, {"x~y":"old"} ,3]}, "a":{"b/c":[ "new",{"x~y" : "it" }],"n":null},"":5}`},
		{"/a/n", "null", `{"a": {"b/c": [1, {"x~y":"old"} ,3]}, "a":{"b/c":[ 7,{"x~y" : "it" }],"n":"new"},"":5}`},
		{"/", "5", `{"a": {"b/c": [1, {"x~y":"old"} ,3]}, "a":{"b/c":[ 7,{"x~y" : "it" }],"n":null},"":"new"}`},
		{"/a/b~1c/2", "", doc},
		{"/a/b~1c/-1", "", doc},
		{"/a/b~1c/x", "", doc},
		{"/a/n/x", "", doc},
		{"/zz", "", doc},
		{"a", "", doc},
	} {
		if got := string(At([]byte(doc), c.pointer)); got != c.at {
			t.Errorf("%q leads to %s, want %s", c.pointer, got, c.at)
		}
		if got := string(SetAt([]byte(doc), c.pointer, []byte(`"new"`))); got != c.set {
			t.Errorf("%q set gives\n%s, want\n%s", c.pointer, got, c.set)
		}
	}
	// The value is a part of a larger text.
	larger := []byte(`xx{"a":[1,2]}yy`)
	if got := string(SetAt(larger[2:13], "/a/1", []byte("9"))); got != `{"a":[1,9]}` {
		t.Errorf("set in a piece gives %s", got)
	}
}
