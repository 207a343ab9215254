package rawjson

import (
	"bytes"
	"unicode/utf8"
	"unsafe"
)

// Room is reusable memory for strings that are not kept, for code that looks at millions of them. The zero value is ready.
// With a nil Room each string has its own memory.
type Room struct{ buf []byte }

// roomSize is how much memory a Room has at once. A longer string makes it as long, until Trim.
const roomSize = 256 << 10

// Reset invalidates all strings.
func (r *Room) Reset() { r.buf = r.buf[:0] }

// Trim is Reset that also lets go of the memory of a very long string.
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
