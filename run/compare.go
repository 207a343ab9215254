package run

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// Difference is the first place in which two values differ: a JSON pointer (RFC 6901), and what stands there; "" where
// nothing does.
// It is what 'run diff --json' and 'run replay --serve --json' print: the members are a stable format. The values
// are cut (see brief), so they are for people to look at, not to be parsed.
type Difference struct {
	Pointer string `json:"pointer"`
	A       string `json:"a"`
	B       string `json:"b"`
}

// Describe says it in words: recorded and got are what the two sides are called.
func (d *Difference) Describe(a, b string) string {
	side := func(name, value string) string {
		if value == "" {
			return name + " has nothing"
		}
		return name + " " + value
	}
	return fmt.Sprintf("%s: %s, %s", cmp.Or(d.Pointer, "(all)"), side(a, d.A), side(b, d.B))
}

// Compare gives the first difference of two values, nil where there is none. The order of members, white space and the
// spelling of strings and numbers do not count; of repeated keys the last does. A member that is null is as good as none.
// Values are never decoded as a whole: a request may be many megabytes long.
func Compare(a, b []byte) *Difference {
	c := comparison{}
	return c.values("", a, b)
}

// comparison compares. Ids of tool calls are made up anew in each run: with a pairing, the first in one run that meets the
// first in the other is the same call from then on.
type comparison struct {
	// Both directions are kept: otherwise two calls of one run could be taken for the same one of the other.
	pairs   map[string]string
	reverse map[string]string
	// ignore says which members do not count.
	ignore func(key string) bool
}

// values compares what stands at a pointer. Kinds are told by the first byte; what is neither both objects nor
// both arrays is compared as a scalar and differs if it is not one.
func (c *comparison) values(pointer string, a, b []byte) *Difference {
	a, b = trim(a), trim(b)
	switch {
	// an absent member is an empty slice, which is null to rawjson
	case rawjson.IsNull(a) && rawjson.IsNull(b):
		return nil
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

// same compares what has no inside.
// 1.0 and 1 are the same number, "\u0041" and "A" the same text: which spelling a program chooses depends on its
// library.
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

// paired says whether two ids of tool calls are the same call.
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

// isCallID goes by the place: the id of a call, and the reference of a result to it. An "id" elsewhere (of a
// tool's own argument, say) is content and counts.
func isCallID(pointer string) bool {
	if strings.HasSuffix(pointer, "/tool_call_id") {
		return true
	}
	rest, ok := strings.CutSuffix(pointer, "/id")
	if !ok {
		return false
	}
	list, _, ok := cutLast(rest, "/")
	return ok && strings.HasSuffix(list, "/tool_calls")
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// as RFC 6901 wants it; the order matters only to whoever does it in two steps
var escapePointer = strings.NewReplacer("~", "~0", "/", "~1")

// objects goes through a's members first, so that the first difference is the first that a reader of a meets. Get
// gives the last of repeated keys, so seen makes each key count once.
func (c *comparison) objects(pointer string, a, b []byte) *Difference {
	seen := map[string]bool{}
	for _, side := range [][]byte{a, b} { // in a's order, then what only b has
		for key := range rawjson.Fields(side) {
			if seen[key] || c.ignore != nil && c.ignore(key) {
				continue
			}
			seen[key] = true
			if d := c.values(pointer+"/"+escapePointer.Replace(key), rawjson.Get(a, key), rawjson.Get(b, key)); d != nil {
				return d
			}
		}
	}
	return nil
}

func (c *comparison) arrays(pointer string, a, b []byte) *Difference {
	var x, y [][]byte
	for e := range rawjson.Elements(a) {
		x = append(x, e)
	}
	for e := range rawjson.Elements(b) {
		y = append(y, e)
	}
	return c.lists(pointer, x, y)
}

// lists reports what one side has more as a difference at its first element, with nothing on the other side.
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

// brief makes a value fit for a line.
// 120 bytes: one line on most terminals beside the pointer. It must not end within a character, of at most four
// bytes.
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
