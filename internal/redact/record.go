package redact

import (
	"encoding/json"
	"strings"
)

// Version is the version of the rules. It must grow whenever a record may be redacted differently than before: with a new or changed kind
// of secret, or another rule of what in a record may change. Copies of sessions record it.
const Version = 1

// Record returns a record of a session without its secrets, and how many there were. If there is none, it returns the record itself. A
// record that is JSON stays JSON with the same meaning: only strings change, but not names of members that a format may have. A record that
// is not JSON is redacted as a text. The result has no newline that the record does not have, and depends only on the record.
func Record(record []byte) ([]byte, int) { return standard().Record(record) }

// Record is the function Record with the additional knowledge of the Finder.
func (f *Finder) Record(record []byte) ([]byte, int) {
	text := SpelledOut(string(record))
	found := f.Find(text)
	if len(found) == 0 {
		return record, 0
	}
	if json.Valid([]byte(strings.TrimPrefix(text, "\ufeff"))) {
		if found = InStrings(text, found); len(found) == 0 {
			return record, 0
		}
	}
	return Replaced(text, found), len(found)
}

// Replaced returns a text with Marks in place of matches, which are in order and do not overlap.
func Replaced(text string, found []Match) []byte {
	out := make([]byte, 0, len(text))
	at := 0
	for _, m := range found {
		out = append(out, text[at:m.Start]...)
		out = append(out, Mark(m.Kind)...)
		at = m.End
	}
	return append(out, text[at:]...)
}

// structural are members whose values tell the kind of a record. A text that the caller hides may be such a word.
var structural = map[string]bool{"type": true, "subtype": true, "role": true, "kind": true, "customType": true}

// InStrings returns the matches in the text of a JSON value as parts of single strings that may change: neither names of members that a
// format may have, nor words that tell the kind of a record.
func InStrings(text string, found []Match) (list []Match) {
	member := ""
	for i := 0; i < len(text) && len(found) > 0; i++ {
		if text[i] != '"' {
			continue
		}
		start := i + 1
		for i = start; i < len(text) && text[i] != '"'; i++ {
			if text[i] == '\\' {
				i++
			}
		}
		end := min(i, len(text))
		if rest := strings.TrimLeft(text[min(end+1, len(text)):], " \t\r\n"); strings.HasPrefix(rest, ":") {
			member = text[start:end]
			if isName(member, found, start) {
				continue
			}
		}
		for len(found) > 0 && found[0].Start < end {
			m := found[0]
			if m.End <= end {
				found = found[1:]
			} else {
				found[0].Start = end // the rest may be in the next string
			}
			m.Start, m.End = max(m.Start, start), min(m.End, end)
			word := m.Kind == HiddenText && m.Start == start && m.End == end && structural[member]
			if m.Start < m.End && !word {
				list = append(list, m)
			}
		}
	}
	return list
}

// isName reports whether a member's name may be a word of a format, so that its record could not be read without it: it is an identifier,
// and the first match in it is a text that the caller hides, or a password that is made of letters.
func isName(name string, found []Match, start int) bool {
	letters := true
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '_':
		case '0' <= c && c <= '9':
			letters = false
		default:
			return false
		}
	}
	for _, m := range found {
		if m.End > start {
			return letters || m.Kind == HiddenText
		}
	}
	return true
}
