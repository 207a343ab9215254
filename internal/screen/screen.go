// Package screen makes text safe for a terminal and fits it into columns.
package screen

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// Clean makes text from a session safe for a terminal: it shows control characters, those that change the direction of
// writing, and those that hide text, as escapes. They are not removed, so that an attack stays visible. Newlines and tabs are kept.
func Clean(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\r':
			b.WriteString(`\r`)
		case Dangerous(r) && r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case Dangerous(r) && r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		case Dangerous(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default: // each byte that is not UTF-8 becomes U+FFFD
			b.WriteRune(r)
		}
	}
	return b.String()
}

// plain reports whether Clean has nothing to do. It has a fast path for ASCII, since it runs for every cell of a list.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 && c != '\n' && c != '\t' || c == 0x7f {
			return false
		} else if c >= 0x80 {
			return strings.IndexFunc(s[i:], func(r rune) bool { return r == utf8.RuneError || Dangerous(r) }) < 0
		}
	}
	return true
}

// Dangerous reports whether a character can control a terminal, change the order of text, break a line that is counted as
// one, or hide text: invisible characters, such as tags, can carry a message that only a model reads. Joiners are not among
// them, since scripts and emoji need them.
func Dangerous(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20 || r >= 0x7f && r <= 0x9f:
		return true
	case r < 0x2028:
		return r == softHyphen || r == 0x061c || r == 0x180e || r == 0x200e || r == 0x200f
	}
	return r <= 0x202e || // separators of lines and paragraphs, embeddings and overrides
		r >= 0x2060 && r <= 0x206f || // invisible operators, isolates
		r == 0xfeff || r >= 0xfff9 && r <= 0xfffb || // byte order mark, annotations
		r >= 0xe0000 && r <= 0xe007f // tags
}

const softHyphen = 0xad

// isOneLine reports whether OneLine has nothing to do.
func isOneLine(s string, most int) bool {
	if most > 0 && len(s) > most { // no character has more columns than bytes
		return false
	}
	for i := 0; i < len(s); {
		c := s[i]
		if c < ' ' || c == 0x7f || c == ' ' && (i == 0 || i == len(s)-1 || s[i-1] == ' ') {
			return false
		}
		n := 1
		if c >= utf8.RuneSelf {
			var r rune
			if r, n = utf8.DecodeRuneInString(s[i:]); r == utf8.RuneError || Dangerous(r) || unicode.IsSpace(r) {
				return false
			}
		}
		i += n
	}
	return true
}

// OneLine returns the beginning of a text as one clean line for a table or header. White space becomes single spaces. A line
// of more than most columns (0: no limit) is cut and ends in an ellipsis. It does not scan a long text to its end.
func OneLine(s string, most int) string {
	if isOneLine(s, most) {
		return s
	}
	var b strings.Builder
	space := false
	for _, r := range s {
		if unicode.IsSpace(r) {
			space = b.Len() > 0
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
		// A character has at most four bytes. Combining ones have no columns, so there is room for them.
		if most > 0 && b.Len() > 8*most+64 {
			break
		}
	}
	return Cut(Clean(b.String()), most)
}

// Ellipsis marks a cut.
const Ellipsis = "…"

// Cut shortens a line to a number of columns (0: no limit).
func Cut(s string, most int) string {
	if most <= 0 || len(s) <= most {
		return s
	}
	return displaywidth.TruncateString(s, most, Ellipsis)
}

// CutPath shortens a path to a number of columns (0: no limit). It keeps the end, which tells paths apart, if possible from
// a separator on.
func CutPath(s string, most int) string {
	over := displaywidth.String(s) - most
	if most <= 0 || over <= 0 {
		return s
	}
	over++ // for the ellipsis
	g := displaywidth.StringGraphemes(s)
	rest := s
	for over > 0 && g.Next() {
		over -= g.Width()
		rest = rest[len(g.Value()):]
	}
	if i := strings.IndexAny(rest, `/\`); i >= 0 && i < len(rest)-1 {
		rest = rest[i:]
	}
	return Ellipsis + rest
}

// Pad fills a cell up with spaces: on its left if right is set, as for numbers.
func Pad(s string, width int, right bool) string {
	n := width - displaywidth.String(s)
	if n <= 0 {
		return s
	}
	if right {
		return strings.Repeat(" ", n) + s
	}
	return s + strings.Repeat(" ", n)
}

// Wrap breaks a clean line into pieces of at most width columns (0: no limit), between words if possible. All pieces have
// the indentation of the line. Columns are counted by grapheme cluster.
func Wrap(line string, width int) []string {
	if width <= 0 {
		return []string{line}
	}
	if strings.IndexByte(line, '\t') >= 0 {
		line = strings.ReplaceAll(line, "\t", "    ")
	}
	if len(line) <= width || displaywidth.String(line) <= width {
		return []string{line}
	}
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	// An indentation that leaves no room is dropped.
	if len(indent) > width/2 {
		indent = ""
	}
	lines := make([]string, 0, 4)
	for _, p := range Pieces(line, width, width-len(indent)) {
		piece := line[p[0]:p[1]]
		if len(lines) > 0 {
			piece = indent + piece
		}
		lines = append(lines, piece)
	}
	return lines
}

// Pieces breaks a clean line without tabs into pieces of at most first columns, and after the first one at most rest, between words if
// possible. Each piece is the range [begin, end) in the line; spaces at its end are left out. There is at least one piece. Columns are
// counted by grapheme cluster, of which a piece has at least one.
func Pieces(line string, first, rest int) (list [][2]int) {
	flush := func(from, to int) {
		if to = from + len(strings.TrimRight(line[from:to], " ")); to > from {
			list = append(list, [2]int{from, to})
		}
	}
	room := first
	start, used := 0, 0 // the beginning of the piece, and its columns so far
	breakAt := -1       // after the last space
	at := 0
	for g := displaywidth.StringGraphemes(line); g.Next(); {
		w, next := g.Width(), at+len(g.Value())
		space := g.Value() == " "
		switch {
		case used+w <= room || at == start:
			used += w
		case space: // dropped at the break
			flush(start, at)
			start, used, room = next, 0, rest
		default:
			end := at
			if breakAt > start && strings.TrimSpace(line[start:breakAt]) != "" {
				end = breakAt
			}
			flush(start, end)
			start, room = end, rest
			used = displaywidth.String(line[start:next])
		}
		if at = next; space {
			breakAt = at
		}
	}
	flush(start, len(line))
	if list == nil { // nothing but spaces
		return [][2]int{{0, 0}}
	}
	return list
}

// Width returns the columns of a string. With escapes set, sequences that set colours take none.
func Width(s string, escapes bool) int {
	if escapes {
		return displaywidth.Options{ControlSequences: true}.String(s)
	}
	return displaywidth.String(s)
}
