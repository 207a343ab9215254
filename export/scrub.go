package export

import (
	"cmp"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/internal/redact"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/transcript"
)

// scrubber replaces secrets in records and keeps account of them. A nil one replaces nothing.
type scrubber struct {
	finder *redact.Finder
	all    bool // not only what the caller hides
	done   map[int]bool
	list   []Redaction
	known  map[string]string // secrets that were found, with their kinds: see short
}

func newScrubber(all bool, hide []string) *scrubber {
	return &scrubber{finder: redact.New(redact.Options{Hide: hide}), all: all, done: map[int]bool{}, known: map[string]string{}}
}

// find gives the secrets of a text.
func (s *scrubber) find(text string) []redact.Match {
	list := s.finder.Find(text)
	if s.all {
		return list
	}
	return slices.DeleteFunc(list, func(m redact.Match) bool { return m.Kind != redact.HiddenText })
}

// record replaces the secrets of a record. The record stays JSON: each secret is inside of one string.
func (s *scrubber) record(e session.Entry, record []byte) []byte {
	text := string(record)
	found := s.find(text)
	if len(found) == 0 {
		return record
	}
	out := make([]byte, 0, len(text))
	at, first := 0, !s.done[e.Index]
	s.done[e.Index] = true
	for _, m := range found {
		m.End = m.Start + inOneString(text[m.Start:m.End])
		if m.End == m.Start {
			continue
		}
		out = append(out, text[at:m.Start]...)
		out = append(out, redact.Mark(m.Kind)...)
		at = m.End
		if first {
			s.note(e, m, text[m.Start:m.End], len(text))
		}
	}
	return append(out, text[at:]...)
}

// note keeps a redaction. An entry is read several times, for its block and for labels, and noted once.
func (s *scrubber) note(e session.Entry, m redact.Match, secret string, size int) {
	r := Redaction{Entry: e.ID, Line: e.Line, Offset: e.Span.Offset, Kind: m.Kind, Hint: redact.Hint(secret)}
	if int64(size) == e.Span.Length {
		r.Offset += int64(m.Start)
	}
	s.list = append(s.list, r)
	if len(s.known) < mostKnown {
		s.known[secret] = m.Kind
	}
}

// mostKnown bounds the secrets that are remembered.
const mostKnown = 10_000

// inOneString is the length of the part of s, which begins inside of a JSON string, that is in that string.
func inOneString(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(s)
}

// short replaces the secrets of a line that may be cut: at its end there may be the beginning of a secret.
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
		for n := min(len(secret)-1, len(end)); n >= 4; n-- {
			if strings.HasSuffix(end, secret[:n]) {
				return end[:len(end)-n] + redact.Mark(kind) + line[len(end):]
			}
		}
	}
	return line
}

// block replaces secrets in what a block has from elsewhere than its records.
func (s *scrubber) block(b *transcript.Block) {
	if s == nil {
		return
	}
	b.Label = s.short(b.Label)
}

// redactions are those that were made, in the order of the log.
func (s *scrubber) redactions() []Redaction {
	if s == nil {
		return nil
	}
	slices.SortStableFunc(s.list, func(a, b Redaction) int { return cmp.Compare(a.Offset, b.Offset) })
	return s.list
}
