package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
)

// Write prints a value as JSON on one line. Characters that could control a terminal are escaped.
func Write(w io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(escape(b.Bytes()))
	return err
}

// Escaped returns a writer of JSON for a terminal: it escapes the characters that screen.Clean would escape. Each Write must have whole
// characters.
func Escaped(w io.Writer) io.Writer { return escaper{w} }

type escaper struct{ w io.Writer }

func (e escaper) Write(b []byte) (int, error) {
	if _, err := e.w.Write(escape(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// escape escapes the characters that screen.Clean would escape, and replaces bytes that are not UTF-8. In JSON, both occur only inside
// strings.
func escape(b []byte) []byte {
	odd := func(r rune) bool { return r == utf8.RuneError || screen.Dangerous(r) }
	if bytes.IndexFunc(b, odd) < 0 {
		return b
	}
	var out []byte
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && n == 1:
			out = append(out, `\ufffd`...)
		case r > 0xffff && screen.Dangerous(r):
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		case screen.Dangerous(r):
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			out = append(out, b[:n]...)
		}
		b = b[n:]
	}
	return out
}

// Array prints a JSON array with one element per line, without holding it in memory.
type Array struct {
	W io.Writer
	n int
}

// Add prints one element. The comma comes before it, so that the last element needs no special case.
func (a *Array) Add(v any) error {
	var b bytes.Buffer
	b.WriteString("[\n")
	if a.n > 0 {
		b.Reset()
		b.WriteString(",\n")
	}
	a.n++
	if err := Write(&b, v); err != nil {
		return err
	}
	_, err := a.W.Write(b.Bytes()[:b.Len()-1]) // without the newline: a comma may follow
	return err
}

// End closes the array. An array without elements is printed as [].
func (a *Array) End() error {
	last := "\n]\n"
	if a.n == 0 {
		last = "[]\n"
	}
	_, err := io.WriteString(a.W, last)
	return err
}

// WriteList prints a JSON array of n elements, one per line. It calls at for each of them, in order.
func WriteList[T any](w io.Writer, n int, at func(i int) (T, error)) error {
	list := Array{W: w}
	for i := range n {
		v, err := at(i)
		if err == nil {
			err = list.Add(v)
		}
		if err != nil {
			return err
		}
	}
	return list.End()
}

// UTC formats a time in the form of all JSON output.
func UTC(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// utc formats the time of an entry; nil means that it has none.
func utc(t session.Time) *string {
	at, ok := t.Time()
	if !ok {
		return nil
	}
	s := UTC(at)
	return &s
}

// Verbatim passes on a piece of a log. One that is nested too deeply for encoding/json becomes a string.
func Verbatim(raw session.Raw) json.RawMessage {
	if len(raw) > 0 && !json.Valid(raw) {
		return rawjson.Quote(string(raw))
	}
	return json.RawMessage(raw)
}

// optional returns nil for "", so that a member without a value is null or absent.
func optional[T ~string](s T) *T {
	if s == "" {
		return nil
	}
	return &s
}

// Indent formats JSON on several lines. It returns what encoding/json cannot read unchanged.
func Indent(raw []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}
