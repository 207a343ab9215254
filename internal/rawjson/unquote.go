package rawjson

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// Unquote decodes a JSON string. Half a surrogate pair becomes U+FFFD, as does invalid UTF-8. ok is false if value is not a
// string or ends too early.
func Unquote(value []byte) (s string, ok bool) {
	inside, first := quoted(value)
	switch {
	case first == notQuoted:
		return "", false
	case first == notPlain:
		return unquoteSlowly(value)
	case first < 0:
		return string(inside), true
	}
	out, ok := unescaped(make([]byte, 0, len(inside)), inside, first)
	if !ok {
		return unquoteSlowly(value)
	}
	return borrowed(out), true // nothing else refers to it
}

// Inside returns the text between the quotes of a string: a copy if it has escapes, otherwise a slice of value. It returns
// nil if value is not a string. It does not check the last byte, since callers pass values that were scanned.
func Inside(value []byte) []byte {
	if len(value) < 2 || value[0] != '"' {
		return nil
	}
	inside := value[1 : len(value)-1]
	if bytes.IndexByte(inside, '\\') >= 0 {
		s, _ := Unquote(value)
		return []byte(s)
	}
	return inside
}

// unescaped appends to dst, which has room for it, the text of the inside of a string, whose first backslash is at i. It
// returns false if that is not a string.
func unescaped(dst, inside []byte, i int) ([]byte, bool) {
	dst = append(dst, inside[:i]...)
	for i < len(inside) {
		dst, i = unescapeFast(dst, inside, i)
		// Eight bytes at once: there are whole lines between escapes. All eight are copied, and those before the first
		// special one count.
		for i+8 <= len(inside) {
			w := binary.LittleEndian.Uint64(inside[i:])
			plain := bits.TrailingZeros64(special(w)) >> 3 // 8 if none is special
			dst = binary.LittleEndian.AppendUint64(dst, w)[:len(dst)+plain]
			if i += plain; plain < 8 {
				break
			}
		}
		if i == len(inside) {
			break
		}
		c := inside[i]
		i++
		if class := unquotable[c]; class == 0 {
			dst = append(dst, c)
			continue
		} else if class != '\\' || i == len(inside) {
			return dst, false
		}
		c = inside[i]
		i++
		if c != 'u' {
			if c = meanings[c]; c == 0 {
				return dst, false
			}
			dst = append(dst, c)
			continue
		}
		r, ok := hex4(inside[i:])
		if !ok {
			return dst, false
		}
		i += 4
		if utf16.IsSurrogate(r) {
			pair := rune(utf8.RuneError)
			if rest := inside[i:]; len(rest) >= 6 && rest[0] == '\\' && rest[1] == 'u' {
				if low, ok := hex4(rest[2:]); ok {
					pair = utf16.DecodeRune(r, low)
				}
			}
			if r = pair; pair != utf8.RuneError {
				i += 6
			}
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst, true
}

// unquotable marks the bytes that cannot be copied: backslashes, and those that may not occur in a string.
var unquotable = func() (t [256]byte) {
	for c := range 0x20 {
		t[c] = 'x'
	}
	t['"'], t['\\'] = 'x', '\\'
	return t
}()

// meanings of the letters after a backslash.
var meanings = [256]byte{'"': '"', '\\': '\\', '/': '/', 'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f'}

// hex4 reads four digits.
func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// unquoteSlowly leaves the doubtful cases to encoding/json. It is a function of its own because its result escapes to the
// heap.
func unquoteSlowly(value []byte) (s string, ok bool) {
	if err := json.Unmarshal(value, &s); err != nil {
		return "", false
	}
	return s, true
}
