package rawjson

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// At returns the value at a JSON pointer (RFC 6901), nil if there is none. The empty pointer is the value itself. Each step
// reads the value from its beginning.
func At(value []byte, pointer string) []byte {
	found := value
	for pointer != "" && found != nil {
		key, rest, ok := step(pointer)
		if !ok {
			return nil
		}
		found, pointer = child(found, key), rest
	}
	return found
}

// SetAt returns the value with the one at the pointer replaced. All other bytes stay the same. If there is nothing at the
// pointer, nothing changes; members are not added.
func SetAt(value []byte, pointer string, to []byte) []byte {
	if pointer == "" {
		return to
	}
	key, rest, ok := step(pointer)
	if !ok {
		return value
	}
	old := child(value, key)
	if old == nil || rest != "" && At(old, rest) == nil {
		return value
	}
	now := SetAt(old, rest, to)
	// The child is a slice of the value, and both extend to the same end, so their capacities give its position.
	start := cap(value) - cap(old)
	out := make([]byte, 0, len(value)+len(now)-len(old))
	out = append(append(out, value[:start]...), now...)
	return append(out, value[start+len(old):]...)
}

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// step cuts the first key off a pointer.
func step(pointer string) (key, rest string, ok bool) {
	if pointer[0] != '/' {
		return "", "", false
	}
	key = pointer[1:]
	if i := strings.IndexByte(key, '/'); i >= 0 {
		key, rest = key[:i], key[i:]
	}
	return unescape.Replace(key), rest, true
}

// child returns a member of an object or an element of an array.
func child(value []byte, key string) []byte {
	if IsObject(value) {
		return Get(value, key)
	}
	n, err := strconv.Atoi(key)
	if err != nil || n < 0 || !IsArray(value) {
		return nil
	}
	for e := range Elements(value) {
		if n == 0 {
			return e
		}
		n--
	}
	return nil
}

// Diff calls found with a pointer (RFC 6901) to each place where two values differ in meaning: members that only one of them has, elements
// beyond the shorter array, and different values. The order of members, white space and the spelling of strings and numbers do not matter;
// null and a missing member differ. It is thorough rather than fast, for comparing a session with one that was converted and converted
// back. Its work is bounded: for values that are nested very deep or have very long keys, it reports the place from which on they were not
// compared.
func Diff(a, b []byte, found func(pointer string)) {
	d := differ{found: found, left: 32*(len(a)+len(b)) + 8<<20}
	d.values(a, b, "")
}

// differ compares two values. Each level reads the rest of them again and makes longer pointers, so without a bound the work would grow
// with the square of the depth. The bound also keeps the recursion below some thousand levels.
type differ struct {
	found func(pointer string)
	left  int // number of bytes that may still be read or written
}

// spend counts work on the value at a pointer. If it is too much, it returns false, and calls found with the pointer.
func (d *differ) spend(n int, at string) bool {
	if d.left -= n; d.left < 0 {
		d.found(at)
	}
	return d.left >= 0
}

var escapeKey = strings.NewReplacer("~", "~0", "/", "~1")

// child compares the values of a child; nil means that there is none. It returns false if that is too much work.
func (d *differ) child(a, b []byte, at, key string) bool {
	if a != nil && b != nil && bytes.Equal(bytes.TrimSpace(a), bytes.TrimSpace(b)) {
		return true // the common case
	}
	if !d.spend(len(at)+len(key), at) {
		return false
	}
	if at += "/" + escapeKey.Replace(key); a == nil || b == nil {
		d.found(at)
	} else {
		d.values(a, b, at)
	}
	return true
}

func (d *differ) values(a, b []byte, at string) {
	a, b = bytes.TrimSpace(a), bytes.TrimSpace(b)
	if bytes.Equal(a, b) || !d.spend(len(a)+len(b), at) {
		return
	}
	switch {
	case IsObject(a) && IsObject(b):
		d.objects(a, b, at)
	case IsArray(a) && IsArray(b):
		d.arrays(a, b, at)
	case IsString(a) && IsString(b):
		s, _ := Unquote(a)
		t, _ := Unquote(b)
		if s != t || strings.ContainsRune(s, '\uFFFD') { // the original half of a surrogate pair is unknown
			d.found(at)
		}
	case !sameNumber(a, b):
		d.found(at)
	}
}

// Repeated keys are reported: readers disagree on which one counts.
func (d *differ) objects(a, b []byte, at string) {
	mine, keys, repeated := members(a)
	others, more, again := members(b)
	if repeated || again {
		d.found(at) // readers disagree on which one counts
		return
	}
	for _, key := range keys {
		if !d.child(mine[key], others[key], at, key) {
			return
		}
	}
	for _, key := range more {
		if _, ok := mine[key]; !ok && !d.child(nil, others[key], at, key) {
			return
		}
	}
}

// members returns the values of an object by key, and the keys in their order.
func members(object []byte) (values map[string][]byte, keys []string, repeated bool) {
	values = map[string][]byte{}
	for key, value := range Fields(object) {
		if _, ok := values[key]; ok {
			repeated = true
		}
		values[key] = value
		keys = append(keys, key)
	}
	return values, keys, repeated
}

func (d *differ) arrays(a, b []byte, at string) {
	mine, others := slices.Collect(Elements(a)), slices.Collect(Elements(b))
	for n := range max(len(mine), len(others)) {
		var x, y []byte
		if n < len(mine) {
			x = mine[n]
		}
		if n < len(others) {
			y = others[n]
		}
		if !d.child(x, y, at, strconv.Itoa(n)) {
			return
		}
	}
}

// sameNumber reports whether both are numbers and equal, also with more digits than a float64 has.
func sameNumber(a, b []byte) bool {
	x, err := strconv.ParseFloat(string(a), 64)
	y, err2 := strconv.ParseFloat(string(b), 64)
	return err == nil && err2 == nil && x == y && x < 1<<53 && x > -(1<<53)
}
