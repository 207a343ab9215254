package rawjson

import (
	"bytes"
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

// Diff calls found with a pointer (RFC 6901) to each place where two values differ in meaning: members that only one of them
// has, elements beyond the shorter array, and different values. The order of members, white space and the spelling of
// strings and numbers do not matter; null and a missing member differ. It is thorough rather than fast, for comparing a
// session with one that was converted and converted back.
func Diff(a, b []byte, found func(pointer string)) { diff(a, b, "", found) }

var escapeKey = strings.NewReplacer("~", "~0", "/", "~1")

// Equal bytes are the common case.
func diff(a, b []byte, at string, found func(string)) {
	a, b = bytes.TrimSpace(a), bytes.TrimSpace(b)
	if bytes.Equal(a, b) {
		return
	}
	switch {
	case IsObject(a) && IsObject(b):
		diffObjects(a, b, at, found)
	case IsArray(a) && IsArray(b):
		diffArrays(a, b, at, found)
	case IsString(a) && IsString(b):
		s, _ := Unquote(a)
		t, _ := Unquote(b)
		if s != t || strings.ContainsRune(s, '\uFFFD') { // the original half of a surrogate pair is unknown
			found(at)
		}
	case !sameNumber(a, b):
		found(at)
	}
}

// Repeated keys are reported: readers disagree on which one counts.
func diffObjects(a, b []byte, at string, found func(string)) {
	values, repeated := members(b)
	mine, again := members(a)
	if repeated || again {
		found(at) // which one counts depends on the reader
		return
	}
	for key, value := range Fields(a) {
		other, ok := values[key]
		if !ok {
			found(at + "/" + escapeKey.Replace(key))
			continue
		}
		diff(value, other, at+"/"+escapeKey.Replace(key), found)
	}
	for key := range Fields(b) {
		if _, ok := mine[key]; !ok {
			found(at + "/" + escapeKey.Replace(key))
		}
	}
}

// members returns the values of an object by key.
func members(object []byte) (values map[string][]byte, repeated bool) {
	values = map[string][]byte{}
	for key, value := range Fields(object) {
		if _, ok := values[key]; ok {
			repeated = true
		}
		values[key] = value
	}
	return values, repeated
}

func diffArrays(a, b []byte, at string, found func(string)) {
	var others [][]byte
	for e := range Elements(b) {
		others = append(others, e)
	}
	n := 0
	for e := range Elements(a) {
		place := at + "/" + strconv.Itoa(n)
		if n < len(others) {
			diff(e, others[n], place, found)
		} else {
			found(place)
		}
		n++
	}
	for ; n < len(others); n++ {
		found(at + "/" + strconv.Itoa(n))
	}
}

// sameNumber says whether both are numbers and equal, also with more digits than a float64 has.
func sameNumber(a, b []byte) bool {
	x, err := strconv.ParseFloat(string(a), 64)
	y, err2 := strconv.ParseFloat(string(b), 64)
	return err == nil && err2 == nil && x == y && x < 1<<53 && x > -(1<<53)
}
