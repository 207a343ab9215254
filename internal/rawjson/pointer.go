package rawjson

import (
	"strconv"
	"strings"
)

// At gives the value that a JSON pointer (RFC 6901) leads to, nil where it leads nowhere. The empty pointer is the value
// itself.
// Each step goes through the value from its beginning: pointers of a few steps into one record are what it is made
// for.
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

// SetAt gives the value with what the pointer leads to changed. All other bytes stay as they are; where the pointer leads
// nowhere nothing changes.
// Members are not added: a pointer that leads nowhere is somebody's mistake, or of another record.
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
	// The child is a piece of the value, so where it lies is known without looking again.
	// Slices of one array have their distance to its end in common, which is their capacity.
	start := cap(value) - cap(old)
	out := make([]byte, 0, len(value)+len(now)-len(old))
	out = append(append(out, value[:start]...), now...)
	return append(out, value[start+len(old):]...)
}

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// step takes the first key off a pointer.
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

// child gives a member of an object or an element of an array.
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
