package wire

import (
	"bufio"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
)

// Style says what a piece of text is. The face decides what that looks like.
type Style int

// The styles of text forms.
const (
	StyleStrong    Style = iota // a title, a name
	StyleFaint                  // details, and what is not on the active path
	StyleThinking               // thinking of the model
	StyleError                  // something went wrong
	StyleLabel                  // a label, an id, a note that must be seen
	StyleTool                   // the sign of a tool call
	StyleUser                   // the user speaks
	StyleAssistant              // the model speaks
	StyleSummary                // the title of a summary, a request or a response
	StyleAlert                  // the place that the caller named, a missing response
)

const plain Style = -1

// Page is where a text form is written. The writer keeps its first error, which Flush returns.
type Page struct {
	*bufio.Writer
	// Paint marks text with a style; nil leaves it as it is. It must not change the width.
	Paint func(Style, string) string
	// Width is the columns of a line, 0 for no limit.
	Width int
	// Zone is the zone of times, nil for the local one.
	Zone *time.Location
}

func (p *Page) paint(s Style, text string) string {
	if p.Paint == nil || text == "" || s == plain {
		return text
	}
	return p.Paint(s, text)
}

// line writes a line without blanks at its end.
func (p *Page) line(s string) {
	p.WriteString(strings.TrimRight(s, " "))
	p.WriteByte('\n')
}

// clock gives a time in the zone of the page; ok is false for an entry without a time.
func (p *Page) clock(t session.Time) (at time.Time, ok bool) {
	if at, ok = t.Time(); !ok {
		return at, false
	}
	if p.Zone == nil {
		return at.Local(), true
	}
	return at.In(p.Zone), true
}

// Width is the columns that a text takes. Escape sequences of a painter take none.
func Width(s string) int {
	return screen.Width(s, strings.IndexByte(s, 0x1b) >= 0)
}

// Size is a number of bytes for people, in decimal units. 9.95 and 999.5 are where rounding would add a digit.
func Size(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10) + " B"
	}
	f := float64(n)
	for _, unit := range []string{"KB", "MB", "GB", "TB"} {
		if f /= 1000; f < 9.95 {
			return strconv.FormatFloat(f, 'f', 1, 64) + " " + unit
		} else if f < 999.5 || unit == "TB" {
			return strconv.FormatFloat(f, 'f', 0, 64) + " " + unit
		}
	}
	return ""
}

// Number is a number with its thousands set apart.
func Number(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Count is a number of things: "1 entry", "1,200 entries".
//
//go:noinline // its copies took 10.5 KB
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(int64(n)) + " " + many
}

// Ago is a time as people say it: hours within a day, the weekday within a week, otherwise the date. A time in the
// future is given in full.
func Ago(t, now time.Time) string {
	switch d := now.Sub(t); {
	case d < -time.Minute:
		return t.Format("2006-01-02 15:04")
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 24*time.Hour && now.Day() == t.Day(), d < 6*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	case d < 6*24*time.Hour:
		return t.Format("Mon 15:04")
	case now.Year() == t.Year():
		return t.Format("2 Jan 15:04")
	}
	return t.Format("2 Jan 2006")
}

// Tilde shortens the home folder in a path to ~. A home of "/" shortens nothing.
func Tilde(path, home string) string {
	if home == "" || home == "/" {
		return path
	}
	if rest, ok := strings.CutPrefix(path, home); ok && (rest == "" || rest[0] == '/' || rest[0] == '\\') {
		return "~" + rest
	}
	return path
}

// relative shows paths below a directory relative to it. It is a plain replacement: the result is only a hint.
func relative(s, dir string) string {
	if len(dir) < 2 {
		return s
	}
	return strings.ReplaceAll(s, dir+"/", "")
}

// orElse is cmp.Or for two strings.
func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// join is strings.Join without the empty words.
func join(words []string, separator string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), separator)
}

// lines gives the clean lines of a text, without blank lines at its ends.
func lines(s string) []string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Split(strings.Trim(screen.Clean(s), "\n"), "\n")
}
