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
	may, again := m.runRaw(record)
	if may || !again || !mayHoldJSON(record) {
		return may
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
	may, _ = m.runRaw(m.text)
	return may
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

// runRaw is run for a record; may is also true if the automaton gave up. again says that a text contains a backslash.
func (m *automaton) runRaw(b []byte) (may, again bool) {
	if m.hopeless || m.always {
		return true, false
	}
	s, from := stateStart, 0
	for i := 0; i < len(b); {
		r, n := rune(b[i]), 1
		if r >= utf8.RuneSelf || r == '\\' {
			r, n = rawRune(b[i:])
			again = again || r == '\\'
		}
		next := stateUnknown
		if r < utf8.RuneSelf {
			next = m.next[s][r]
		} else {
			next = m.wide[wideStep{s, r}]
		}
		switch i += n; next {
		case stateStart:
			if s == stateStart {
				i = m.skip(b, i)
			}
		case stateUnknown:
			var ok bool
			if next, ok = m.move(s, r, i-from); !ok {
				return true, false
			}
			from = i
		}
		if s = next; s == stateFound {
			return true, false
		}
	}
	m.seen += len(b) - from
	return false, again
}

// skip returns the first position at or after i where a match may begin.
func (m *automaton) skip(b []byte, i int) int {
	plain := &m.plain
	for ; len(b)-i >= 8; i += 8 {
		p := b[i : i+8]
		if !(plain[p[0]] && plain[p[1]] && plain[p[2]] && plain[p[3]] && plain[p[4]] && plain[p[5]] && plain[p[6]] && plain[p[7]]) {
			break
		}
	}
	for i < len(b) && plain[b[i]] {
		i++
	}
	return i
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
