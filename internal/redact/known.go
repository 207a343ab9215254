package redact

// Known are secrets that were found in some records, with their kinds. A Finder that has them in its Options finds them also where nothing
// gives them away: a password that was read from a file is later typed by itself.
type Known map[string]string

const (
	mostKnown    = 500 // secrets that are remembered: each takes some KB in a Finder
	longestKnown = 128
)

// Learn adds the secrets that f finds in a record. Texts that the caller hides are none.
func (k Known) Learn(f *Finder, record []byte) {
	text := SpelledOut(string(record))
	for _, m := range InStrings(text, f.Find(text)) {
		if n := m.End - m.Start; m.Kind != HiddenText && n >= KnownLeast && n <= longestKnown && len(k) < mostKnown {
			k[text[m.Start:m.End]] = m.Kind
		}
	}
}
