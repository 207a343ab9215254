package rawjson

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// Set returns the object with a member changed to value, or appended. All other bytes stay the same. If the key is repeated,
// the last one, which counts, is changed. The input is not changed. An object that is not well formed is returned as it is.
func Set(object []byte, key string, value []byte) []byte {
	start, end := -1, -1
	t := borrow(object)
	defer t.done()
	o, ok := t.Object(0)
	if !ok {
		return object
	}
	empty := true
	for o.Next() {
		empty = false
		if string(o.Key) == key {
			start = o.Offset()
			o.Value()
			end = o.Offset()
		}
	}
	after, err := o.End()
	if err != nil {
		return object
	}
	if start >= 0 {
		return slices.Concat(object[:start], value, object[end:]) // exactly as long as needed: the old value may be very large
	}
	// The new member goes before the white space in front of the closing brace, so that a pretty-printed object stays pretty-printed.
	closing := after - 1
	for closing > 0 && isSpace(object[closing-1]) {
		closing--
	}
	out := make([]byte, 0, len(object)+len(key)+len(value)+4)
	out = append(out, object[:closing]...)
	if !empty {
		out = append(out, ',')
	}
	out = AppendString(out, key)
	out = append(out, ':')
	out = append(out, value...)
	return append(out, object[closing:]...)
}

// Delete returns the object without a member and its comma. If the key is repeated, every occurrence is removed, since a
// reader would otherwise find an older value.
func Delete(object []byte, key string) []byte {
	t := borrow(object)
	defer t.done()
	o, ok := t.Object(0)
	if !ok {
		return object
	}
	type piece struct{ start, end int }
	var cut []piece
	from := SkipSpace(object, 0) + 1 // after the brace or the last value
	for o.Next() {
		matches := string(o.Key) == key
		o.Value()
		if matches {
			cut = append(cut, piece{from, o.Offset()})
		}
		from = o.Offset()
	}
	if _, err := o.End(); err != nil || len(cut) == 0 {
		return object
	}
	out := make([]byte, 0, len(object))
	at := 0
	for _, c := range cut {
		out = append(out, object[at:c.start]...)
		at = c.end
	}
	out = append(out, object[at:]...)
	lead := SkipSpace(object, 0) + 1
	if cut[0].start != lead {
		return out
	}
	// The first member was removed: the comma after it goes as well.
	if i := SkipSpace(out, lead); i < len(out) && out[i] == ',' {
		out = append(out[:lead], out[i+1:]...)
	}
	return out
}

// MapElements returns an array with each element replaced by the result of f; nil removes the element. If nothing changes it
// returns the array itself.
func MapElements(array []byte, f func(element []byte) []byte) []byte {
	var out []byte // nil until something changes: a long array is not copied unnecessarily
	same := 0
	for e := range Elements(array) {
		now := f(e)
		if out == nil {
			if now != nil && bytes.Equal(now, e) {
				same++
				continue
			}
			out = firstElements(array, same)
		}
		if now != nil {
			out = appendElement(out, now)
		}
	}
	if out == nil {
		return array
	}
	return append(out, ']')
}

// firstElements begins an array with the first n elements of another.
func firstElements(array []byte, n int) []byte {
	out := []byte{'['}
	for e := range Elements(array) {
		if n--; n < 0 {
			break
		}
		out = appendElement(out, e)
	}
	return out
}

func appendElement(out, e []byte) []byte {
	if len(out) > 1 {
		out = append(out, ',')
	}
	return append(out, e...)
}

// MapMembers returns an object with each value replaced by the result of f. All other bytes stay the same. If nothing changes, or
// the object is not well formed, it returns the object itself.
func MapMembers(object []byte, f func(key string, value []byte) []byte) []byte {
	t := borrow(object)
	defer t.done()
	o, ok := t.Object(0)
	if !ok {
		return object
	}
	var out []byte
	from := 0
	for o.Next() {
		key, start := string(o.Key), o.Offset()
		value := o.Value()
		if now := f(key, value); !bytes.Equal(now, value) {
			out = append(append(out, object[from:start]...), now...)
			from = o.Offset()
		}
	}
	if _, err := o.End(); err != nil || from == 0 {
		return object
	}
	return append(out, object[from:]...)
}

// AppendString appends s as a JSON string, escaped as JSON.stringify does, so that a record that is written again has the
// same spelling. Invalid UTF-8 becomes U+FFFD, which is what JavaScript would have read.
func AppendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			dst = append(dst, s[start:i]...)
			if letter := letters[c]; letter != 0 {
				dst = append(dst, '\\', letter)
			} else {
				dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			}
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			dst = append(dst, s[start:i]...)
			dst = append(dst, "\uFFFD"...)
			start = i + n
		}
		i += n
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// letters maps a character to the letter that JSON.stringify writes after a backslash.
var letters = [utf8.RuneSelf]byte{'"': '"', '\\': '\\', '\n': 'n', '\t': 't', '\r': 'r', '\b': 'b', '\f': 'f'}

// Quote returns s as a JSON string; see AppendString.
//
//go:noinline // its copies took 29 KB
func Quote(s string) []byte { return AppendString(make([]byte, 0, len(s)+2), s) }

// Compact removes the white space between the tokens of a value; strings and numbers keep their spelling. It returns the
// value itself if there is none, or if a string in it is not JSON.
func Compact(value []byte) []byte {
	if out := compact(nil, value); out != nil {
		return out
	}
	return value
}

// AppendCompact appends what Compact returns.
func AppendCompact(dst, value []byte) []byte {
	if out := compact(dst, value); out != nil {
		return out
	}
	return append(dst, value...)
}

// compact appends a value without its white space to out, which may be nil until there is some. It returns nil for a value that
// stays as it is.
func compact(out, value []byte) []byte {
	start := 0
	for i := 0; i < len(value); {
		switch c := value[i]; {
		case c == '"':
			if i = skipString(value, i+1); i < 0 {
				return nil
			}
		case isSpace(c):
			if out == nil {
				out = make([]byte, 0, len(value))
			}
			out = append(out, value[start:i]...)
			i = SkipSpace(value, i)
			start = i
		default:
			i++
		}
	}
	if out == nil {
		return nil
	}
	return append(out, value[start:]...)
}

// lineBreaks are the line breaks of Unicode beyond ASCII.
var lineBreaks = []struct{ char, escaped []byte }{
	{[]byte("\u0085"), []byte(`\u0085`)}, {[]byte("\u2028"), []byte(`\u2028`)}, {[]byte("\u2029"), []byte(`\u2029`)},
}

// EscapeBreaks escapes the line breaks of Unicode in a JSON text, because some programs split lines there, as Python's
// splitlines does. In JSON they occur only inside strings. A text without them is not copied.
func EscapeBreaks(b []byte) []byte {
	for _, br := range lineBreaks {
		if bytes.Contains(b, br.char) {
			b = bytes.ReplaceAll(b, br.char, br.escaped)
		}
	}
	return b
}
