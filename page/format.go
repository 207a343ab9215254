package page

import (
	"bytes"
	"html/template"
	"time"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/internal/markup"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/wire"
)

// mostProblems is the largest number of problems that a page lists.
const mostProblems = 50

func first[T any](list []T) []T { return list[:min(len(list), mostProblems)] }

// beyond returns the number of problems in a list of n that a page omits.
func beyond(n int) int { return max(n-mostProblems, 0) }

// next returns the 1-based number of an index.
func next(i int) int { return i + 1 }

// plain renders a text that comes from a log.
func plain(s string) template.HTML {
	var b bytes.Buffer
	markup.Plain(&b, s)
	return template.HTML(b.String())
}

// cost formats a cost in a table.
func cost(f float64) string { return wire.Cost(f, "–") }

// shortID shortens a long id to its first 4 and last 6 characters: UUIDs that begin with a time differ only at their ends.
func shortID(id string) string {
	id = screen.OneLine(id, 0)
	if utf8.RuneCountInString(id) <= 12 {
		return id
	}
	head, tail := 0, len(id)
	for range 4 {
		_, n := utf8.DecodeRuneInString(id[head:])
		head += n
	}
	for range 6 {
		_, n := utf8.DecodeLastRuneInString(id[:tail])
		tail -= n
	}
	return id[:head] + "…" + id[tail:]
}

// in returns a time in the zone of the site.
func (s *Site) in(t time.Time) time.Time {
	if s.Zone == nil {
		return t.UTC()
	}
	return t.In(s.Zone)
}

// Ago returns a time element as a list shows it.
func (s *Site) Ago(t time.Time) template.HTML {
	if t.IsZero() {
		return ""
	}
	if s.Now == nil {
		return s.element(t, s.in(t).Format("2 Jan 2006"))
	}
	return s.element(t, wire.Ago(s.in(t), s.in(s.Now())))
}

// Clock returns the time element of a message: the time of day, with the date if the day differs from that of before.
func (s *Site) Clock(t, before time.Time) template.HTML {
	if t.IsZero() {
		return ""
	}
	at := s.in(t)
	if b := s.in(before); before.IsZero() || b.YearDay() == at.YearDay() && b.Year() == at.Year() {
		return s.element(t, at.Format("15:04"))
	}
	return s.element(t, at.Format("2 Jan 15:04"))
}

// Date returns a time element with date and time.
func (s *Site) Date(t time.Time) template.HTML {
	if t.IsZero() {
		return ""
	}
	return s.element(t, s.in(t).Format("2 Jan 2006 15:04"))
}

// element writes a time. text has only digits and names of months.
func (s *Site) element(t time.Time, text string) template.HTML {
	return template.HTML(`<time datetime="` + wire.UTC(t) + `" title="` + s.in(t).Format("Mon 2 Jan 2006 15:04:05 -07:00") + `">` + text + `</time>`)
}

// Folder returns a path with the home directory shortened.
func (s *Site) Folder(path string) string { return wire.Tilde(screen.OneLine(path, 200), s.Home) }
