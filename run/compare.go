package run

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// Difference is the first place in which two values differ: a JSON pointer (RFC 6901) and both values. An absent value is "".
// The members are a stable JSON format. The values are shortened for display.
type Difference struct {
	Pointer string `json:"pointer"`
	A       string `json:"a"`
	B       string `json:"b"`
}

// Describe returns the difference in words; a and b name the two sides.
func (d *Difference) Describe(a, b string) string {
	side := func(name, value string) string {
		if value == "" {
			return name + " has nothing"
		}
		return name + " " + value
	}
	return fmt.Sprintf("%s: %s, %s", cmp.Or(d.Pointer, "(all)"), side(a, d.A), side(b, d.B))
}

// Compare returns the first difference of two values, or nil. The order of members, white space and the spelling of strings and
// numbers do not count, except a hundred levels deep and deeper; of repeated keys the last counts. A member that is null
// equals an absent one. Values are never decoded as a whole: a request may have many megabytes.
func Compare(a, b []byte) *Difference { return at("", a, b) }

// comparison compares values. Ids of tool calls are new in each run: with a pairing, two ids that meet first stand for the
// same call from then on.
type comparison struct {
	// Both directions, so that two calls of one run cannot both equal one of the other.
	pairs   map[string]string
	reverse map[string]string
	// ignore has the members that do not count.
	ignore []string
	depth  int
}

// deepest limits how many nested objects and arrays are parsed. Each level is scanned again for what is inside
// it, so a hostile value would take time and memory that grow with the square of its length.
const deepest = 100

// values compares the values at a pointer. The first byte shows the kind. Anything but two objects or two arrays is compared
// as a scalar, and so is what is nested too deeply.
func (c *comparison) values(pointer string, a, b []byte) *Difference {
	a, b = trim(a), trim(b)
	c.depth++
	defer func() { c.depth-- }()
	switch {
	// An absent member is an empty slice, which is null to rawjson.
	case rawjson.IsNull(a) && rawjson.IsNull(b):
		return nil
	case c.depth > deepest:
		if bytes.Equal(rawjson.Compact(a), rawjson.Compact(b)) {
			return nil
		}
	case rawjson.IsObject(a) && rawjson.IsObject(b):
		return c.objects(pointer, a, b)
	case rawjson.IsArray(a) && rawjson.IsArray(b):
		return c.arrays(pointer, a, b)
	case c.pairs != nil && isCallID(pointer) && rawjson.IsString(a) && rawjson.IsString(b):
		if c.paired(a, b) {
			return nil
		}
	case same(a, b):
		return nil
	}
	return &Difference{Pointer: pointer, A: brief(a), B: brief(b)}
}

func trim(v []byte) []byte { return v[min(rawjson.SkipSpace(v, 0), len(v)):] }

// same compares scalars. 1.0 and 1 are the same number, "\u0041" and "A" the same text.
func same(a, b []byte) bool {
	if string(a) == string(b) {
		return true
	}
	if s, ok := rawjson.Unquote(a); ok {
		t, ok := rawjson.Unquote(b)
		return ok && s == t
	}
	x, errA := strconv.ParseFloat(string(a), 64)
	y, errB := strconv.ParseFloat(string(b), 64)
	return errA == nil && errB == nil && x == y
}

// paired reports whether two ids stand for the same call.
func (c *comparison) paired(a, b []byte) bool {
	x, _ := rawjson.Unquote(a)
	y, _ := rawjson.Unquote(b)
	known, has := c.pairs[x]
	back, hasBack := c.reverse[y]
	if !has && !hasBack {
		c.pairs[x], c.reverse[y] = y, x
		return true
	}
	return has && hasBack && known == y && back == x
}

// isCallID reports whether a pointer is that of a call's id or of a result's reference to it. An "id" elsewhere, for example
// in the arguments of a tool, is content.
func isCallID(pointer string) bool {
	if strings.HasSuffix(pointer, "/tool_call_id") {
		return true
	}
	rest, ok := strings.CutSuffix(pointer, "/id")
	return ok && strings.HasSuffix(rest[:max(0, strings.LastIndexByte(rest, '/'))], "/tool_calls")
}

// escapePointer escapes a key for a JSON pointer.
var escapePointer = strings.NewReplacer("~", "~0", "/", "~1")

// objects compares the members in the order of a, then those that only b has, so that the first difference is the first that
// a reader of a meets. Each key is compared once.
func (c *comparison) objects(pointer string, a, b []byte) *Difference {
	ofA, keys := members(a, nil)
	ofB, keys := members(b, keys)
	for i, key := range keys {
		x, inA := ofA[key]
		if inA && i >= len(ofA) || slices.Contains(c.ignore, key) {
			continue // compared among those of a
		}
		if d := c.values(pointer+"/"+escapePointer.Replace(key), x, ofB[key]); d != nil {
			return d
		}
	}
	return nil
}

// members returns the members of an object, of a repeated key the last, and appends each key once.
func members(object []byte, keys []string) (map[string][]byte, []string) {
	of := map[string][]byte{}
	for key, value := range rawjson.Fields(object) {
		if _, again := of[key]; !again {
			keys = append(keys, key)
		}
		of[key] = value
	}
	return of, keys
}

func (c *comparison) arrays(pointer string, a, b []byte) *Difference {
	return c.lists(pointer, slices.Collect(rawjson.Elements(a)), slices.Collect(rawjson.Elements(b)))
}

// lists compares elements. An element that only one side has is a difference.
func (c *comparison) lists(pointer string, a, b [][]byte) *Difference {
	for i := range max(len(a), len(b)) {
		at := pointer + "/" + strconv.Itoa(i)
		switch {
		case i >= len(a):
			return &Difference{Pointer: at, B: brief(b[i])}
		case i >= len(b):
			return &Difference{Pointer: at, A: brief(a[i])}
		}
		if d := c.values(at, a[i], b[i]); d != nil {
			return d
		}
	}
	return nil
}

// brief shortens a value to 120 bytes, one line on most terminals beside the pointer. It does not cut a character in two.
func brief(v []byte) string {
	const most = 120
	if rawjson.IsNull(v) {
		return ""
	}
	v = rawjson.Compact(v)
	if len(v) <= most {
		return string(v)
	}
	cut := v[:most]
	for len(cut) > 0 && !utf8.Valid(cut) && len(cut) > most-4 {
		cut = cut[:len(cut)-1]
	}
	return string(cut) + "…"
}
