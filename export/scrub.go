package export

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/internal/redact"
	"github.com/treeline-dev/treeline/internal/sorting"
	"github.com/treeline-dev/treeline/session"
)

// scrubber replaces secrets in records and keeps a list of them. A nil one replaces nothing.
//
// It reads the session twice. The first time it learns the secrets; the second time it also finds them without context: a password that was read
// from a file is later typed by itself.
type scrubber struct {
	finder *redact.Finder
	all    bool // all secrets, not only the texts in Options.Hide
	done   map[int]bool
	list   []Redaction
	known  redact.Known
}

func newScrubber(all bool, hide []string) *scrubber {
	hide = escaped(hide)
	return &scrubber{finder: redact.New(redact.Options{Hide: hide}), all: all, done: map[int]bool{}, known: redact.Known{}}
}

const partialSecret = 6 // characters of a secret that a cut line may not end with

// learn finds the secrets of all records.
func (s *scrubber) learn(hide []string, records iter.Seq2[[]byte, error]) error {
	for record, err := range records {
		if err != nil {
			return err
		}
		if s.all {
			s.known.Learn(s.finder, record)
		}
	}
	if len(s.known) > 0 {
		s.finder = redact.New(redact.Options{Hide: escaped(hide), Known: s.known})
	}
	return nil
}

// find returns the secrets in a text.
func (s *scrubber) find(text string) []redact.Match {
	list := s.finder.Find(text)
	if s.all {
		return list
	}
	return slices.DeleteFunc(list, func(m redact.Match) bool { return m.Kind != redact.HiddenText })
}

// record replaces the secrets in a record. The record remains JSON, and the same entry: only strings change, except names of members that a
// format may have and words that determine its type. Ids that occur twice change in the same way.
func (s *scrubber) record(e session.Entry, record []byte) []byte {
	text := redact.SpelledOut(string(record))
	found := s.inStrings(text)
	if len(found) == 0 {
		return record
	}
	if !s.done[e.Index] {
		s.done[e.Index] = true
		for _, m := range found {
			s.note(e, m, text[m.Start:m.End], len(text))
		}
	}
	return redact.Replaced(text, found)
}

// inStrings returns the secrets in a record that are within one string that may change.
func (s *scrubber) inStrings(text string) []redact.Match { return redact.InStrings(text, s.find(text)) }

// note adds a redaction. An entry is read several times, for its block and for labels, but added once.
func (s *scrubber) note(e session.Entry, m redact.Match, secret string, size int) {
	r := Redaction{Entry: e.ID, Line: e.Line, Offset: e.Span.Offset, Kind: m.Kind, Hint: redact.Hint(secret)}
	if int64(size) == e.Span.Length {
		r.Offset += int64(m.Start)
	}
	s.list = append(s.list, r)
}

// short replaces the secrets in a line that may be cut: it may end with the beginning of a secret.
func (s *scrubber) short(line string) string {
	if s == nil {
		return line
	}
	if found := s.find(line); len(found) > 0 {
		var out strings.Builder
		at := 0
		for _, m := range found {
			out.WriteString(line[at:m.Start] + redact.Mark(m.Kind))
			at = m.End
		}
		line = out.String() + line[at:]
	}
	end := strings.TrimRight(line, "….")
	for secret, kind := range s.known {
		at := strings.LastIndex(end, secret[:partialSecret])
		if at >= 0 && strings.HasPrefix(secret, end[at:]) {
			return end[:at] + redact.Mark(kind) + line[len(end):]
		}
	}
	return line
}

// problems returns problems without secrets. They may name files, and quote the log.
func (s *scrubber) problems(list []session.Problem) []session.Problem {
	list = slices.Clone(list)
	for i := range list {
		list[i].Message, list[i].Advice = s.short(list[i].Message), s.short(list[i].Advice)
	}
	return list
}

// label replaces the secrets in a label, which is in another record than the entry that has it.
func (s *scrubber) label(label string, of session.Entry) string {
	if s == nil || label == "" {
		return label
	}
	for _, m := range s.find(label) {
		s.list = append(s.list, Redaction{Entry: of.ID, Line: of.Line, Offset: of.Span.Offset, Kind: m.Kind, Hint: redact.Hint(label[m.Start:m.End])})
	}
	return s.short(label)
}

// redactions returns the redactions in the order of the log.
func (s *scrubber) redactions() []Redaction {
	if s == nil {
		return nil
	}
	sorting.By(s.list, func(a, b Redaction) int { return cmp.Compare(a.Offset, b.Offset) })
	return s.list
}
