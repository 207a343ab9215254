package page

import (
	"io"
	"strconv"
	"strings"
)

// output writes a page in large pieces. Its methods return it, so that calls can be chained. They are the escapers of html/template for the
// places in which the templates need them; see templates.go.
type output struct {
	w   io.Writer
	buf []byte
}

// pieceSize is the number of bytes that are written at once.
const pieceSize = 16 << 10

// stopped is the panic that ends a page after a write error.
type stopped struct{ error }

// write executes a template.
func (o *output) write(name string, v view) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case stopped:
			err = r.error
		default:
			panic(r)
		}
	}()
	o.execute(name, v)
	o.flush()
	return nil
}

func (o *output) flush() {
	if _, err := o.w.Write(o.buf); err != nil {
		panic(stopped{err})
	}
	o.buf = o.buf[:0]
}

// raw writes HTML as it is. It is not inlined, because it is called in a thousand places.
//
//go:noinline
func (o *output) raw(s string) *output {
	o.buf = append(o.buf, s...)
	if len(o.buf) >= pieceSize {
		o.flush()
	}
	return o
}

// text writes a text between elements, or in a quoted attribute.
func (o *output) text(s string) *output {
	done := 0
	for i := range len(s) {
		if e := entity(s[i]); e != "" {
			o.raw(s[done:i]).raw(e)
			done = i + 1
		}
	}
	return o.raw(s[done:])
}

// entity returns the escape for a character that is special in HTML, or "" for any other.
func entity(c byte) string {
	switch c {
	case '<':
		return "&lt;"
	case '>':
		return "&gt;"
	case '&':
		return "&amp;"
	case '"':
		return "&#34;"
	case '\'':
		return "&#39;"
	case '+':
		return "&#43;" // begins a script in UTF-7
	case 0:
		return "\ufffd"
	}
	return ""
}

// number writes a whole number.
func (o *output) number(n int64) *output { return o.raw(strconv.FormatInt(n, 10)) }

// link writes an address that may come from a log. One whose scheme runs a script is replaced.
func (o *output) link(address string) *output {
	if scheme, _, ok := strings.Cut(address, ":"); ok && !strings.Contains(scheme, "/") &&
		!strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") && !strings.EqualFold(scheme, "mailto") {
		address = "#ZgotmplZ" // the text that html/template writes, which can be searched for
	}
	return o.address(address)
}

// address writes an address whose scheme is trusted. It escapes what must not be in an address, and keeps existing escapes.
func (o *output) address(s string) *output {
	done := 0
	for i := range len(s) {
		if inAddress(s[i]) || s[i] == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) {
			continue
		}
		const hex = "0123456789abcdef"
		o.text(s[done:i]).raw(string([]byte{'%', hex[s[i]>>4], hex[s[i]&15]}))
		done = i + 1
	}
	return o.text(s[done:])
}

// inAddress reports whether a character is written unchanged in an address. Quotes and parentheses are not, as they may end one in HTML or
// CSS.
func inAddress(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~!#$&*+,/:;=?@[]", c) >= 0
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}
