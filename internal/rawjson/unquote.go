package rawjson

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// Unquote decodes a JSON string. Half a surrogate pair becomes U+FFFD, as does invalid UTF-8. ok is false if value is not a
// string or ends too early.
func Unquote(value []byte) (s string, ok bool) { return (*Room)(nil).Unquote(value) }

// Inside returns the text between the quotes of a string: a copy if it has escapes, otherwise a slice of value. It returns
// nil if value is not a string. It does not check the last byte, since callers pass values that were scanned.
func Inside(value []byte) []byte {
	if len(value) < 2 || value[0] != '"' {
		return nil
	}
	if hasSlant(value) {
		s, _ := Unquote(value)
		return []byte(s)
	}
	return value[1 : len(value)-1]
}

// hasSlant reports whether there is a backslash. Ids and types are short: a call of IndexByte costs more than this loop.
func hasSlant(b []byte) bool {
	const word, short = 8, 64
	n := len(b)
	if n < word || n > short {
		return bytes.IndexByte(b, '\\') >= 0
	}
	x := binary.LittleEndian.Uint64(b[n-word:]) ^ slants
	found := (x - ones) &^ x
	for i := 0; i < n-word; i += word {
		x = binary.LittleEndian.Uint64(b[i:i+word]) ^ slants
		found |= (x - ones) &^ x
	}
	return found&highs != 0
}

// unescaped appends to dst, which has room for it, the text of the inside of a string, whose first backslash is at i. It
// returns false if that is not a string.
func unescaped(dst, inside []byte, i int) ([]byte, bool) {
	dst = append(dst, inside[:i]...)
	for i < len(inside) {
		dst, i = unescapeFast(dst, inside, i)
		// Eight bytes at once: there are usually whole lines between escapes. All eight are copied, and those before the first special one
		// count.
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
		if c != '\\' && c != '"' && c >= ' ' {
			dst = append(dst, c)
			continue
		} else if c != '\\' || i == len(inside) {
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
		r, n := Escape(inside[i-2:])
		if n == 0 {
			return dst, false
		}
		i += n - 2
		dst = utf8.AppendRune(dst, r)
	}
	return dst, true
}

// meanings maps the letters after a backslash to their characters.
var meanings = [256]byte{'"': '"', '\\': '\\', '/': '/', 'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f'}

// Escape decodes the escape at the beginning of b and returns its length, 0 if there is none. Two escapes that are a surrogate
// pair are one character; half a pair is U+FFFD.
func Escape(b []byte) (r rune, n int) {
	const size = len(`\u0000`)
	if len(b) > 1 && b[0] == '\\' && meanings[b[1]] != 0 {
		return rune(meanings[b[1]]), 2
	}
	r, ok := hex4(b)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, size
	}
	if low, ok := hex4(b[size:]); ok {
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return pair, 2 * size
		}
	}
	return utf8.RuneError, size
}

// hex4 reads the digits of the escape at the beginning of b.
func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
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

// Room is reusable memory for strings that are not kept, for code that looks at millions of them. The zero value is ready.
// With a nil Room each string has its own memory.
type Room struct{ buf []byte }

// roomSize is how much memory a Room has at once. A longer string makes it as long, until Trim.
const roomSize = 256 << 10

// Reset invalidates all strings.
func (r *Room) Reset() { r.buf = r.buf[:0] }

// Trim is Reset that also releases the memory of a very long string.
func (r *Room) Trim() {
	if r.Reset(); cap(r.buf) > roomSize {
		r.buf = nil
	}
}

// Unquote is like the function Unquote, with a string that may share value and is valid until Reset.
func (r *Room) Unquote(value []byte) (s string, ok bool) {
	inside, first := quoted(value)
	switch {
	case first == notQuoted:
		return "", false
	case first == notPlain:
		return unquoteSlowly(value)
	case first < 0:
		return r.String(inside), true
	}
	if r == nil {
		r = &Room{buf: make([]byte, 0, len(inside))}
	} else if cap(r.buf)-len(r.buf) < len(inside) {
		r.buf = make([]byte, 0, max(roomSize, len(inside))) // strings in the old buffer keep it alive
	}
	begin := len(r.buf)
	out, ok := unescaped(r.buf[begin:begin:begin+len(inside)], inside, first)
	if !ok {
		return unquoteSlowly(value)
	}
	r.buf = r.buf[:begin+len(out)]
	return borrowed(out), true
}

// Inside is Unquote with bytes that must not be changed.
func (r *Room) Inside(value []byte) (inside []byte, ok bool) {
	s, ok := r.Unquote(value)
	return unsafe.Slice(unsafe.StringData(s), len(s)), ok
}

// String returns bytes that do not change until Reset as a string.
func (r *Room) String(b []byte) string {
	if r == nil {
		return string(b)
	}
	return borrowed(b)
}

// borrowed returns a string that shares the memory of b.
func borrowed(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Results of quoted other than the position of the first backslash; -1 means that there is none.
const (
	notQuoted = -2 // not a string
	notPlain  = -3 // not valid UTF-8
)

// quoted returns the inside of a string, and the position of its first backslash.
func quoted(value []byte) (inside []byte, first int) {
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' {
		return nil, notQuoted
	}
	inside = value[1 : len(value)-1]
	if !utf8.Valid(inside) {
		return inside, notPlain
	}
	return inside, bytes.IndexByte(inside, '\\')
}
