package query

import (
	"bytes"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// The automaton goes through an undecoded record as through its texts, and interprets escapes. It may match outside of the
// texts, but misses nothing in them.

// twiceMost is the longest record that is decoded for a second pass.
const twiceMost = 1 << 20

// mayRecord says whether the expression may match in a text of a record. The automaton ignores assertions, so the bytes
// around a text do not matter.
func (a *automatons) mayRecord(record []byte) bool {
	m := a.idle.Get().(*automaton)
	defer a.idle.Put(m)
	found, escaped, ok := m.run(record, true)
	if found || !ok || !escaped || !mayHoldJSON(record) {
		return found || !ok
	}
	// A text of the record may be JSON whose strings are searched as well, as the arguments of tools are: then a backslash
	// in the text begins an escape of the inner JSON.
	if len(record) > twiceMost {
		return true
	}
	m.text = m.text[:0]
	for rest := record; len(rest) > 0; {
		i := bytes.IndexByte(rest, '\\')
		if i < 0 {
			i = len(rest)
		}
		m.text, rest = append(m.text, rest[:i]...), rest[i:]
		if len(rest) > 0 {
			r, n := rawRune(rest)
			m.text, rest = utf8.AppendRune(m.text, r), rest[n:]
		}
	}
	found, _, ok = m.run(m.text, true)
	return found || !ok
}

// mayHoldJSON says whether a string of a record may be a JSON text with strings: it begins with a bracket or a quote. It
// only saves time.
func mayHoldJSON(b []byte) bool {
	for i := 0; i < len(b); {
		quote := bytes.IndexByte(b[i:], '"')
		if quote < 0 {
			return false
		}
		i += quote + 1
		escaped := false
		for k := i - 2; k >= 0 && b[k] == '\\'; k-- {
			escaped = !escaped
		}
		if escaped {
			continue // inside a string
		}
		k := i
		for k < len(b) && (b[k] == ' ' || b[k] == '\\' && k+1 < len(b) && isSpaceLetter(b[k+1])) {
			if b[k] == '\\' {
				k++
			}
			k++
		}
		if k < len(b) && (b[k] == '{' || b[k] == '[') || k+1 < len(b) && b[k] == '\\' && (b[k+1] == '"' || b[k+1] == 'u') {
			return true
		}
	}
	return false
}

// rawRune returns the next character of a record, and how many bytes spell it. A backslash that begins no escape stands for
// itself.
func rawRune(b []byte) (r rune, n int) {
	if b[0] != '\\' {
		return utf8.DecodeRune(b)
	}
	if r, n = rawjson.Escape(b); n == 0 {
		return '\\', 1
	}
	return r, n
}
