package rawjson

import "bytes"

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
