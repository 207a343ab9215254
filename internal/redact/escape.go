package redact

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// SpelledOut returns a record without the escapes that JSON does not need: \u0041 becomes A, and \/ becomes a slash. It is the same JSON.
// Secrets are searched in it, since an escape in the middle would hide them.
func SpelledOut(record string) string {
	at := strings.IndexByte(record, '\\')
	if at < 0 || !strings.Contains(record[at:], `\u`) && !strings.Contains(record[at:], `\/`) {
		return record
	}
	var b strings.Builder
	b.Grow(len(record))
	for at >= 0 && at+1 < len(record) {
		b.WriteString(record[:at])
		n := 2
		switch record[at+1] {
		case '/':
			b.WriteByte('/')
		case 'u':
			var text string
			text, n = character(record[at:])
			b.WriteString(text)
		default:
			b.WriteString(record[at : at+2])
		}
		record = record[at+n:]
		at = strings.IndexByte(record, '\\')
	}
	b.WriteString(record)
	return b.String()
}

// character returns the character of an escape at the beginning of a text, and the length of the escape. An escape that JSON needs, or that
// is not a character, stays as it is.
func character(text string) (string, int) {
	r, ok := unit(text)
	n := 6
	if !ok {
		return text[:2], 2
	}
	if utf16.IsSurrogate(r) {
		low, _ := unit(text[6:])
		if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
			return text[:6], 6
		}
		n = 12
	}
	if r < ' ' || r == '"' || r == '\\' || r == 0x7f {
		return text[:n], n
	}
	return string(r), n
}

// unit reads \uXXXX.
func unit(text string) (rune, bool) {
	if len(text) < 6 || text[:2] != `\u` {
		return 0, false
	}
	n, err := strconv.ParseUint(text[2:6], 16, 16)
	return rune(n), err == nil
}
