package wire

import (
	"bufio"
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
)

// Style is the meaning of a piece of text. The front end decides how it looks.
type Style int

// The styles of text output.
const (
	StyleStrong    Style = iota // a title, a name
	StyleFaint                  // details, and what is not on the active path
	StyleThinking               // thinking of the model
	StyleError                  // something went wrong
	StyleLabel                  // a label, an id, a note that must be seen
	StyleTool                   // the sign of a tool call
	StyleUser                   // text of the user
	StyleAssistant              // text of the model
	StyleSummary                // the title of a summary, a request or a response
	StyleAlert                  // the entry that the caller named, a missing response
)

const plain Style = -1

// Page is what text output is written to. The writer keeps its first error, which Flush returns.
type Page struct {
	*bufio.Writer
	// Paint marks text with a style; nil leaves it as it is. It must not change the width.
	Paint func(Style, string) string
	// Width is the number of columns of a line; 0 means no limit.
	Width int
	// Zone is the time zone; nil means the local one.
	Zone *time.Location
}

func (p *Page) paint(s Style, text string) string {
	if p.Paint == nil || text == "" || s == plain {
		return text
	}
	return p.Paint(s, text)
}

// line writes a line without trailing blanks.
func (p *Page) line(s string) {
	p.WriteString(strings.TrimRight(s, " "))
	p.WriteByte('\n')
}

// clock returns a time in the zone of the page; ok is false for an entry without a time.
func (p *Page) clock(t session.Time) (at time.Time, ok bool) {
	if at, ok = t.Time(); !ok {
		return at, false
	}
	if p.Zone == nil {
		return at.Local(), true
	}
	return at.In(p.Zone), true
}

// columnsOf returns the width of a text in columns. Escape sequences of Paint count as zero.
func columnsOf(s string) int {
	return screen.Width(s, strings.IndexByte(s, 0x1b) >= 0)
}

// relative makes paths below a directory relative to it. It only replaces text, so the result is a hint and not always a path.
func relative(s, dir string) string {
	if len(dir) < 2 {
		return s
	}
	return strings.ReplaceAll(s, dir+"/", "")
}

// join is strings.Join without the empty words.
func join(words []string, separator string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), separator)
}

// lines returns the lines of a text, cleaned, without blank lines at both ends.
func lines(s string) []string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Split(strings.Trim(screen.Clean(s), "\n"), "\n")
}
