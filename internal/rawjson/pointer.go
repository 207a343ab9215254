package rawjson

import (
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
