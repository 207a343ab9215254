package rawjson

import (
	"bytes"
	"unicode/utf8"
	"unsafe"
)

// Room is memory for strings that are not kept: a caller that looks at millions of them uses it again and again. The zero
// value is ready. With a nil Room each string has its own memory.
type Room struct{ buf []byte }

// roomSize is how much memory a Room has at once. A longer string makes it as long, until Trim.
const roomSize = 256 << 10

// Reset takes back all strings.
func (r *Room) Reset() { r.buf = r.buf[:0] }

// Trim takes back all strings, and lets go of the memory of a very long one.
func (r *Room) Trim() {
	if r.Reset(); cap(r.buf) > roomSize {
		r.buf = nil
	}
}

// Unquote is Unquote with a string that may be a piece of value, and is good until Reset.
func (r *Room) Unquote(value []byte) (s string, ok bool) {
	if r == nil {
		return Unquote(value)
	}
	inside, first := quoted(value)
	switch {
	case first == notQuoted:
		return "", false
	case first == notPlain:
		return unquoteSlowly(value)
	case first < 0:
		return borrowed(inside), true
	}
	if cap(r.buf)-len(r.buf) < len(inside) {
		r.buf = make([]byte, 0, max(roomSize, len(inside))) // strings of the old one keep it
	}
	begin := len(r.buf)
	out, ok := unescaped(r.buf[begin:begin:begin+len(inside)], inside, first)
	if !ok {
		return unquoteSlowly(value)
	}
	r.buf = r.buf[:begin+len(out)]
	return borrowed(out), true
}

// String gives bytes that stay as they are until Reset as a string.
func (r *Room) String(b []byte) string {
	if r == nil {
		return string(b)
	}
	return borrowed(b)
}

// borrowed is a string of the same memory.
func borrowed(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// What quoted says besides where the first backslash is; -1 where there is none.
const (
	notQuoted = -2 // no string
	notPlain  = -3 // not all of it is UTF-8
)

// quoted gives what is between the quotes of a string, and where its first backslash stands.
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
