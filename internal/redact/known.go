package redact

// Known maps secrets that were found in some records to their kinds. A Finder that has them in its Options finds them even without any
// context: a password that was read from a file is later typed by itself.
type Known map[string]string

const (
	mostKnown    = 500 // secrets that are remembered: each takes some KB in a Finder
	longestKnown = 128
)

// Learn adds the secrets that f finds in a record, but not texts that the caller hides.
func (k Known) Learn(f *Finder, record []byte) {
	text := SpelledOut(string(record))
	for _, m := range InStrings(text, f.Find(text)) {
		if n := m.End - m.Start; m.Kind != HiddenText && n >= KnownLeast && n <= longestKnown && len(k) < mostKnown {
			k[text[m.Start:m.End]] = m.Kind
		}
	}
}
